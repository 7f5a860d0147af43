#include "reclaim/limit.h"

#include <stdatomic.h>

#include "base/counter.h"
#include "chunk/footprint.h"
#include "guard/lock.h"
#include "reclaim/trim.h"

static void (*_Atomic on_soft)(size_t used, void *arg);
static void *_Atomic on_soft_arg;

/* The mark of the thread that is at it: purging, or in the program's function.  0: none. */
static _Atomic uint32_t busy;

void limit_on_soft(void (*f)(size_t used, void *arg), void *arg) {
    atomic_store_explicit(&on_soft, NULL, memory_order_relaxed);
    atomic_store_explicit(&on_soft_arg, arg, memory_order_relaxed);
    atomic_store_explicit(&on_soft, f, memory_order_release);
}

void limit_exceeded(void) {
    uint32_t nobody = 0;
    if (!atomic_compare_exchange_strong_explicit(&busy, &nobody, lock_self(), memory_order_acquire,
                                                 memory_order_relaxed))
        return;
    counter_add(COUNT_LIMIT_PURGES, 1);
    (void)trim_everything(0);
    footprint_purged();
    if (footprint_crossing()) {
        void (*f)(size_t, void *) = atomic_load_explicit(&on_soft, memory_order_acquire);
        if (f != NULL)
            f(footprint(), atomic_load_explicit(&on_soft_arg, memory_order_relaxed));
    }
    atomic_store_explicit(&busy, 0, memory_order_release);
}

void limit_fork_child(void) {
    if (atomic_load_explicit(&busy, memory_order_relaxed) != lock_self())
        atomic_store_explicit(&busy, 0, memory_order_relaxed);
}
