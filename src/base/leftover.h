/* Ranges of memory that nobody can be given now, each told of in its own first words, until somebody comes
 * along who can see to them: a stack, pushed without a lock and taken whole (see arena/inbox.c for why
 * whole). */
#ifndef RUNG_BASE_LEFTOVER_H
#define RUNG_BASE_LEFTOVER_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/compiler.h"

struct leftover {
    struct leftover *next;
    size_t len; /* bytes, these included */
};

static inline void leftover_push(_Atomic(struct leftover *) *all, void *range, size_t len) {
    struct leftover *r = range;
    r->len = len;
    r->next = atomic_load_explicit(all, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(all, &r->next, r, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

/* NULL, at the price of a load: there are none. */
static inline struct leftover *leftover_take_all(_Atomic(struct leftover *) *all) {
    if (LIKELY(atomic_load_explicit(all, memory_order_relaxed) == NULL))
        return NULL;
    return atomic_exchange_explicit(all, NULL, memory_order_acquire);
}

#endif
