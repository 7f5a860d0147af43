#include "report/lookup.h"

#include <string.h>

#include "base/counter.h"
#include "cache/depot.h"
#include "runs/run.h"
#include "report/snapshot.h"

static const char *const names[COUNTER_COUNT] = {
#define COUNTER(id, name, unit, help) [COUNT_##id] = name,
#include "base/counters.def"
#undef COUNTER
};

static void add_lock(struct lock *l, void *sum) {
    struct totals *t = sum;
    t->lock_acquired += __atomic_load_n(&l->acquired, __ATOMIC_RELAXED);
    t->lock_waited += __atomic_load_n(&l->waited, __ATOMIC_RELAXED);
}

/* The locks count for themselves, without a shared cache line; here it comes together. */
static size_t value_of(enum counter which) {
    if (which != COUNT_LOCK_ACQUISITIONS && which != COUNT_LOCK_WAITS)
        return counter_get(which);
    struct totals sum;
    snapshot_totals(&sum);
    depot_each_lock(add_lock, &sum);
    runs_each_lock(add_lock, &sum);
    return which == COUNT_LOCK_ACQUISITIONS ? sum.lock_acquired : sum.lock_waited;
}

bool counter_lookup(const char *name, size_t *value) {
    for (unsigned i = 0; i < COUNTER_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            *value = value_of((enum counter)i);
            return true;
        }
    }
    return false;
}
