#include "report/lookup.h"

#include <string.h>

#include "base/counter.h"
#include "report/snapshot.h"

static const char *const names[COUNTER_COUNT] = {
#define COUNTER(id, name, unit, help) [COUNT_##id] = name,
#include "base/counters.def"
#undef COUNTER
};

/* The locks count for themselves, without a shared cache line; here it comes together. */
static size_t value_of(enum counter which) {
    struct totals sum;
    switch (which) {
    case COUNT_LOCK_ACQUISITIONS:
        snapshot_totals(&sum);
        return sum.lock_acquired;
    case COUNT_LOCK_WAITS:
        snapshot_totals(&sum);
        return sum.lock_waited;
    default:
        return counter_get(which);
    }
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
