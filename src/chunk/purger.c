#include "chunk/purger.h"

#include "options/options.h"
#include "os/os.h"

_Atomic uint32_t purger_state;

bool purger_wanted(void) {
    return option(OPT_PURGE_THREAD) != 0 && option(OPT_PURGE_DELAY) != 0 && purger_is() == PURGER_NONE;
}

COLD void purger_wake(void) {
    uint32_t asleep = PURGER_ASLEEP;
    if (atomic_compare_exchange_strong_explicit(&purger_state, &asleep, PURGER_AWAKE, memory_order_relaxed,
                                                memory_order_relaxed))
        os_wake(&purger_state, 1);
}
