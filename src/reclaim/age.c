#include "reclaim/age.h"

#include <stdbool.h>

#include "arena/arenas.h"
#include "arena/mapped_cache.h"
#include "arena/purge.h"
#include "base/counter.h"
#include "cache/cpu_cache.h"
#include "cache/depot.h"
#include "options/options.h"
#include "runs/purge.h"
#include "runs/run.h"

/* So often in a row nothing may have gone of what could before it is left alone: free pages of a huge page
   that is mostly in use stay. */
enum { PATIENCE = 8 };

/* How often each shelf's lock had been taken when it was last looked at; 0: it was not to be had. */
static uint64_t shelf_seen[RUN_BINS];

static uint64_t times_taken(struct lock *l) {
    uint64_t times = 0;
    if (lock_try(l)) {
        times = l->acquired;
        lock_release(l);
    }
    return times;
}

static void empty_if_quiet(struct lock *l, void *next_bin) {
    unsigned bin = (*(unsigned *)next_bin)++;
    uint64_t times = times_taken(l);
    if (times != 0 && times - shelf_seen[bin] <= 1) { /* nobody but us */
        depot_empty_shelf(bin);
        times = times_taken(l);
    }
    shelf_seen[bin] = times;
}

/* Objects that lie on a shelf which nobody has come to since the last time.  True: some are left. */
static bool age_depot(void) {
    unsigned bin = 0;
    depot_each_lock(empty_if_quiet, &bin);
    return depot_bytes() > 0;
}

static bool age_runs(void) {
    static size_t last_excess;
    static unsigned in_vain;
    size_t excess;
    size_t purged = counter_get(COUNT_PURGED_BYTES);
    (void)runs_purge_aged();
    bool more = purge_all_by_age(&excess);
    bool waits = excess == 0 || excess != last_excess || counter_get(COUNT_PURGED_BYTES) != purged;
    in_vain = waits ? 0 : in_vain + 1;
    last_excess = excess;
    return more && in_vain < PATIENCE;
}

/* Notes and mappings that wait are each given up when they are old; what stays for good is the end of tops. */
static bool age_arenas(void) {
    enum { LOOKS = 64 };
    static size_t last_left;
    static unsigned in_vain;
    struct arena *a = &main_arena;
    do {
        bool gave = a->purges;
        for (int i = 0; i < LOOKS && gave && arena_enter(a); i++) {
            gave = purge_look(a);
            arena_leave(a);
        }
        a = arena_next(a);
    } while (a != &main_arena);
    mapped_cache_age();
    size_t left = counter_get(COUNT_HEAP_RESIDENT_FREE) + counter_get(COUNT_MAPPED_KEPT);
    in_vain = left != last_left ? 0 : in_vain + 1;
    last_left = left;
    return left > 0 && in_vain < PATIENCE;
}

uint64_t reclaim_by_age(void) {
    size_t delay_ms = option(OPT_PURGE_DELAY);
    if (delay_ms == 0)
        return RECLAIM_NOTHING_LEFT;
    bool more = caches_age();
    more |= age_depot();
    more |= age_runs();
    more |= age_arenas();
    return more ? (uint64_t)delay_ms * 1000 : RECLAIM_NOTHING_LEFT;
}
