#include "report/snapshot.h"

#include <string.h>

#include "arena/arenas.h"
#include "arena/top.h"
#include "base/counter.h"
#include "chunk/meta.h"
#include "life/start.h"
#include "life/thread.h"
#include "options/options.h"
#include "runs/run.h"
#include "runs/space.h"

static bool read_own(const struct memory *m, const void *from, void *to, size_t len) {
    (void)m;
    memcpy(to, from, len);
    return true;
}

static const struct memory own_unasked = {.read = read_own};

/* ---- arenas ---- */

static void add_arena(struct account *sum, struct arena_snapshot *s, const struct memory *m, struct arena *a) {
    memset(s, 0, sizeof *s);
    bool entered = arena_enter(a);
    s->number = a->number;
    s->main = a->main;
    s->system = a->system;
    s->system_max = a->system_max;
    if (entered) {
        (void)account_arena(sum, s, m, a, a, &main_pieces);
        arena_leave(a);
    }
}

void snapshot_arena(struct arena *a, struct arena_snapshot *s) {
    struct account unwanted = {0};
    start();
    add_arena(&unwanted, s, &own_unasked, a);
}

void totals_add(struct totals *t, const struct arena_snapshot *s) {
    t->arenas++;
    t->free_chunks += s->free_chunks;
    t->free_bytes += s->free_bytes;
    t->system += s->system;
    t->system_max += s->system_max;
    t->address_space += s->address_space;
    t->committed += s->committed;
    if (s->main)
        t->main_top_bytes = s->top_bytes;
}

void snapshot_totals(struct totals *t) {
    *t = (struct totals){0};
    struct arena *a = &main_arena;
    do {
        struct arena_snapshot s;
        snapshot_arena(a, &s);
        totals_add(t, &s);
        a = arena_next(a);
    } while (a != &main_arena);
    totals_add_runs(t);
}

/* ---- runs ---- */

/* Everybody stands still; if that cannot be, at least no window goes away. */
static bool hold_still(bool *all) {
    *all = runs_hold_still();
    return *all || lock_take(&space_lock);
}

static void let_go(bool all) {
    if (all)
        runs_let_go();
    else
        lock_release(&space_lock);
}

/* Adds the n-th window; false: there are fewer. */
static bool add_window(struct account *a, struct class_account *classes, const struct memory *m, size_t n) {
    bool all;
    if (!hold_still(&all))
        return false;
    const struct run_window *w = NULL;
    for (int kind = 0; kind < SPACE_KINDS && w == NULL; kind++)
        for (w = space_windows[kind].oldest; w != NULL && n > 0; w = w->newer)
            n--;
    if (w != NULL)
        account_window(a, classes, m, w, (uintptr_t)w);
    let_go(all);
    return w != NULL;
}

/* One window at a time, so that nobody waits for long. */
static void add_runs(struct account *a, struct class_account *classes, const struct memory *m) {
    for (size_t n = 0; add_window(a, classes, m, n); n++) {
    }
}

void totals_add_runs(struct totals *t) {
    struct account a = {0};
    struct class_account classes[RUN_BINS] = {0};
    if (option(OPT_RUNS) == 0)
        return;
    add_runs(&a, classes, &own_unasked);
    size_t free = a.pinned + a.free_resident + a.free_purged;
    size_t system = a.live + free;
    t->free_bytes += free;
    t->free_chunks += system > 0; /* they are not counted one by one */
    t->system += system;
    t->system_max += system;
    t->address_space += system;
    t->committed += system;
}

/* ---- caches ---- */

static void add_cache(struct account *a, const struct tcache *t) {
    if (t != NULL && t != &tcache_inactive && t != &tcache_disabled)
        account_tcache(a, t, option(OPT_TCACHE_COUNT));
}

/* Others' caches are looked at while their threads may use them; they lie in memory that stays. */
static void add_caches(struct account *a, struct class_account *classes) {
    for (const struct cpu_cache *c = cpu_caches; c != NULL; c = c->next)
        account_cpu_cache(a, classes, c);
    if (self.record == NULL)
        add_cache(a, self.tcache);
    if (!lock_take(&records_lock))
        return;
    for (unsigned i = 0; i < RECORD_BUCKETS; i++)
        for (struct thread_record *r = thread_records[i]; r != NULL; r = r->next)
            add_cache(a, r->tcache);
    lock_release(&records_lock);
}

/* ---- all ---- */

void snapshot_account(struct account *a, struct class_account *classes) {
    struct residency residency;
    struct memory m = own_unasked;
    start();
    memset(a, 0, sizeof *a);
    memset(classes, 0, RUN_BINS * sizeof *classes);
    a->kernel_asked = residency_open(&residency, 0);
    if (a->kernel_asked)
        m.residency = &residency;
    struct arena *arena = &main_arena;
    do {
        struct arena_snapshot s;
        add_arena(a, &s, &m, arena);
        arena = arena_next(arena);
    } while (arena != &main_arena);
    if (option(OPT_RUNS) != 0) { /* else the look would be the first touch of the depot's pages */
        depot_gather();
        add_runs(a, classes, &m);
        (void)account_depot(a, classes, &m, &depot_view);
    }
    add_caches(a, classes);
    for (const struct meta_block *b = meta_blocks; b != NULL; b = b->older)
        account_own(a, &m, b->start, b->bytes);
    account_table(a, &m, window_uses, sizeof window_uses);
    a->mapped = counter_get(COUNT_MAPPED_BYTES);
    a->mapped_kept = counter_get(COUNT_MAPPED_KEPT);
    a->mapped_chunks = counter_get(COUNT_MAPPED_NOW);
    account_close(a);
    residency_close(&residency);
}
