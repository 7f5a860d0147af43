/* One collector for everything that is printed: a picture of an arena, taken under its lock, that
   printers read without one.
 *
 * Fields marked "derived" are not kept anywhere but counted here. */
#ifndef RUNG_REPORT_SNAPSHOT_H
#define RUNG_REPORT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>

#include "arena/arena.h"

/* The free chunks of one bin; all derived. */
struct bin_summary {
    size_t smallest, largest;
    size_t bytes;
    size_t count;
};

struct arena_snapshot {
    unsigned number;
    bool main;
    size_t system, system_max;
    struct bin_summary bin[BIN_COUNT];
    size_t free_chunks; /* derived: in bins, and top (which counts even before it exists) */
    size_t free_bytes;  /* derived */
    size_t top_bytes;
    size_t heaps;       /* derived: sub-heaps; 0 for the main arena */
    size_t address_space; /* derived: bytes of its sub-heaps in use; main: system */
    size_t committed;     /* derived: bytes of its sub-heaps that are accessible; main: system */
    size_t lock_acquired, lock_waited;
};

/* An arena that cannot be entered (a fork is under way) is shown with its byte counts alone. */
void snapshot_arena(struct arena *a, struct arena_snapshot *s);

/* Sums over the process; all derived. */
struct totals {
    size_t arenas;
    size_t free_chunks, free_bytes;
    size_t system, system_max;
    size_t address_space, committed;
    size_t main_top_bytes;
    size_t lock_acquired, lock_waited;
};

void totals_add(struct totals *t, const struct arena_snapshot *s);

/* What lies in runs, if there are any: in use what is handed out, to users or caches. */
void totals_add_runs(struct totals *t);

/* All arenas, and the runs. */
void snapshot_totals(struct totals *t);

#endif
