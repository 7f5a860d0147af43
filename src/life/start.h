/* The library's start.  There is no order to rely on: the first call may come from the loader, from
   another library's constructor or from a thread, before or after our own constructor. */
#ifndef RUNG_LIFE_START_H
#define RUNG_LIFE_START_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"

extern _Atomic bool started;

void start_slow(void);

/* At the top of every path that leaves the hot one: reads the kernel's facts and the options, draws
   the key, opens the main arena; once.  Makes no call that can allocate. */
static HOT void start(void) {
    if (UNLIKELY(!atomic_load_explicit(&started, memory_order_acquire)))
        start_slow();
}

#endif
