/* Process-wide event counters.  One table, counters.def, says what there is; the enum, the printed
   names and the documentation all come from it. */
#ifndef RUNG_BASE_COUNTER_H
#define RUNG_BASE_COUNTER_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/compiler.h"

enum counter {
#define COUNTER(id, name, unit, help) COUNT_##id,
#include "base/counters.def"
#undef COUNTER
    COUNTER_COUNT
};

extern _Atomic size_t counters[COUNTER_COUNT] HIDDEN;

static HOT void counter_add(enum counter which, size_t n) {
    atomic_fetch_add_explicit(&counters[which], n, memory_order_relaxed);
}

static HOT void counter_sub(enum counter which, size_t n) {
    atomic_fetch_sub_explicit(&counters[which], n, memory_order_relaxed);
}

static HOT size_t counter_get(enum counter which) {
    return atomic_load_explicit(&counters[which], memory_order_relaxed);
}

/* Keeps the highest value seen. */
static inline void counter_raise(enum counter which, size_t value) {
    size_t seen = counter_get(which);
    while (seen < value &&
           !atomic_compare_exchange_weak_explicit(&counters[which], &seen, value,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

#endif
