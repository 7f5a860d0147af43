#include "report/snapshot.h"

#include <string.h>

#include "arena/arenas.h"
#include "arena/heap.h"
#include "life/start.h"
#include "options/options.h"
#include "runs/run.h"
#include "runs/space.h"

static void summarise(struct bins *b, unsigned index, struct bin_summary *s) {
    struct link *head = bin_head(b, index);
    for (struct link *l = head->next; l != head; l = l->next) {
        size_t csz = chunk_size(chunk_of_link(l));
        s->smallest = s->count == 0 ? csz : size_min(s->smallest, csz);
        s->largest = size_max(s->largest, csz);
        s->bytes += csz;
        s->count++;
    }
}

static void walk(struct arena *a, struct arena_snapshot *s) {
    s->top_bytes = top_size(a);
    s->free_chunks = 1;
    s->free_bytes = s->top_bytes;
    for (unsigned i = BIN_UNSORTED; i < BIN_COUNT; i++) {
        summarise(&a->bins, i, &s->bin[i]);
        s->free_chunks += s->bin[i].count;
        s->free_bytes += s->bin[i].bytes;
    }
    if (a->main) {
        s->address_space = s->committed = a->system;
        return;
    }
    for (struct heap *h = heap_of(a->top); h != NULL; h = h->prev) {
        s->heaps++;
        s->address_space += h->size;
        s->committed += h->committed;
    }
}

void snapshot_arena(struct arena *a, struct arena_snapshot *s) {
    memset(s, 0, sizeof *s);
    start();
    bool entered = arena_enter(a);
    s->number = a->number;
    s->main = a->main;
    s->system = a->system;
    s->system_max = a->system_max;
    s->lock_acquired = a->lock.acquired;
    s->lock_waited = a->lock.waited;
    if (entered) {
        walk(a, s);
        arena_leave(a);
    }
}

void totals_add(struct totals *t, const struct arena_snapshot *s) {
    t->arenas++;
    t->free_chunks += s->free_chunks;
    t->free_bytes += s->free_bytes;
    t->system += s->system;
    t->system_max += s->system_max;
    t->address_space += s->address_space;
    t->committed += s->committed;
    t->lock_acquired += s->lock_acquired;
    t->lock_waited += s->lock_waited;
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

void totals_add_runs(struct totals *t) {
    struct runs_totals r;
    runs_count(&r);
    struct space_totals space = {0};
    if (option(OPT_RUNS) != 0 && lock_take(&space_lock)) {
        space = space_totals;
        lock_release(&space_lock);
    }
    size_t system = space.system;
    size_t in_use = space.in_use - size_min(r.used - r.out, space.in_use);
    t->free_bytes += system - size_min(in_use, system);
    t->free_chunks += system > 0; /* they are not counted one by one */
    t->system += system;
    t->system_max += system;
    t->address_space += system;
    t->committed += system;
}
