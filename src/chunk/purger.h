/* The word that the purge thread (life/purge_thread.h) sleeps on.  It lies this low so that whoever frees
 * memory can wake it. */
#ifndef RUNG_CHUNK_PURGER_H
#define RUNG_CHUNK_PURGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum purger_state {
    PURGER_NONE,     /* there is no thread */
    PURGER_REFUSED,  /* nor will there be one in this process: it could not be started */
    PURGER_STARTING, /* somebody is making it; it may run already */
    PURGER_AWAKE,    /* it will look again within purge_delay */
    PURGER_ASLEEP,   /* there was nothing to do: it waits for purger_nudge() */
    PURGER_ENDING,   /* it was told to return */
};

extern _Atomic uint32_t purger_state HIDDEN;

static HOT enum purger_state purger_is(void) {
    return (enum purger_state)atomic_load_explicit(&purger_state, memory_order_relaxed);
}

/* Option purge_thread is on and would have an effect, and there is no thread yet. */
bool purger_wanted(void);

void purger_wake(void);

/* There is free resident memory.  With any lock held. */
static HOT void purger_nudge(void) {
    if (UNLIKELY(purger_is() == PURGER_ASLEEP))
        purger_wake();
}

#endif
