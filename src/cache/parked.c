#include "cache/parked.h"

_Atomic(struct deep *) parked_caches[PARKED_MOST];

static struct deep *take_from(_Atomic(struct deep *) *slot) {
    if (atomic_load_explicit(slot, memory_order_relaxed) == NULL)
        return NULL;
    return atomic_exchange_explicit(slot, NULL, memory_order_acquire);
}

struct deep *parked_take(void) {
    struct deep *d = NULL;
    for (int i = 0; i < PARKED_MOST && d == NULL; i++)
        d = take_from(&parked_caches[i]);
    if (d != NULL)
        d->seen_parked = false;
    return d;
}

bool parked_put(struct deep *d) {
    for (int i = 0; i < PARKED_MOST; i++) {
        struct deep *none = NULL;
        if (atomic_load_explicit(&parked_caches[i], memory_order_relaxed) == NULL &&
            atomic_compare_exchange_strong_explicit(&parked_caches[i], &none, d, memory_order_release,
                                                    memory_order_relaxed))
            return true;
    }
    return false;
}

/* Back from a look; its slot may be another's by now. */
static void put_back(struct deep *d) {
    if (!parked_put(d))
        deep_end(d);
}

bool parked_holds(unsigned bin, const void *mem) {
    bool found = false;
    for (int i = 0; i < PARKED_MOST && !found; i++) {
        struct deep *d = take_from(&parked_caches[i]);
        if (d != NULL) {
            found = deep_holds(d, bin, mem);
            put_back(d);
        }
    }
    return found;
}

/* Empties those that are due, at once: one that was put back would be met again. */
static bool empty_those(bool (*due)(struct deep *)) {
    struct deep *all[PARKED_MOST];
    bool left = false;
    for (int i = 0; i < PARKED_MOST; i++) {
        all[i] = take_from(&parked_caches[i]);
        if (all[i] != NULL && due(all[i]))
            deep_empty(all[i]);
    }
    for (int i = 0; i < PARKED_MOST; i++)
        if (all[i] != NULL) {
            left |= deep_bytes(all[i]) > 0;
            put_back(all[i]);
        }
    return left;
}

static bool always(struct deep *d) {
    (void)d;
    return true;
}

static bool if_seen_before(struct deep *d) {
    bool seen = d->seen_parked;
    d->seen_parked = true;
    return seen;
}

void parked_empty(void) {
    (void)empty_those(always);
}

bool parked_age(void) {
    return empty_those(if_seen_before);
}
