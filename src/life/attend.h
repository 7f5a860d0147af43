/* What a thread has found to be done while it held locks, done when it holds none. */
#ifndef RUNG_LIFE_ATTEND_H
#define RUNG_LIFE_ATTEND_H

#include "base/compiler.h"
#include "base/self.h"

void attend_slow(void);

/* At the end of every way that takes memory.  errno survives. */
static HOT void attend(void) {
    if (UNLIKELY(self.due != 0))
        attend_slow();
}

#endif
