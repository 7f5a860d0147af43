#include "report/lookup.h"

#include <string.h>

#include "arena/arenas.h"
#include "base/counter.h"
#include "cache/depot.h"
#include "chunk/footprint.h"
#include "life/start.h"
#include "runs/run.h"

struct lock_counts {
    size_t acquired, waited;
};

static void add_lock(struct lock *l, void *sum) {
    struct lock_counts *t = sum;
    t->acquired += __atomic_load_n(&l->acquired, __ATOMIC_RELAXED);
    t->waited += __atomic_load_n(&l->waited, __ATOMIC_RELAXED);
}

/* The locks count for themselves, without a shared cache line; here it comes together. */
size_t counter_value(enum counter which) {
    if (which == COUNT_FOOTPRINT)
        return footprint();
    if (which != COUNT_LOCK_ACQUISITIONS && which != COUNT_LOCK_WAITS)
        return counter_get(which);
    struct lock_counts sum = {0};
    start();
    struct arena *a = &main_arena;
    do {
        add_lock(&a->lock, &sum);
        a = arena_next(a);
    } while (a != &main_arena);
    depot_each_lock(add_lock, &sum);
    runs_each_lock(add_lock, &sum);
    return which == COUNT_LOCK_ACQUISITIONS ? sum.acquired : sum.waited;
}

bool counter_lookup(const char *name, size_t *value) {
    for (unsigned i = 0; i < COUNTER_COUNT; i++) {
        if (strcmp(counter_infos[i].name, name) == 0) {
            *value = counter_value((enum counter)i);
            return true;
        }
    }
    return false;
}
