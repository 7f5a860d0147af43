/* One collector for everything that is printed: a picture of each arena, taken under its lock, of the
   runs and the caches, that printers read without one. */
#ifndef RUNG_REPORT_SNAPSHOT_H
#define RUNG_REPORT_SNAPSHOT_H

#include "report/account.h"

/* An arena that cannot be entered (a fork is under way) is shown with its byte counts alone. */
void snapshot_arena(struct arena *a, struct arena_snapshot *s);

/* What glibc's interface asks for, over the process; all derived.  Metadata in windows of runs, which
   glibc's schema has no place for, is in none of them: system is in use and free. */
struct totals {
    size_t arenas;
    size_t free_chunks, free_bytes;
    size_t system, system_max;
    size_t address_space, committed;
    size_t main_top_bytes;
};

void totals_add(struct totals *t, const struct arena_snapshot *s);

/* What lies in runs, if there are any: in use is what is handed out, to users or caches. */
void totals_add_runs(struct totals *t);

/* All arenas, and the runs. */
void snapshot_totals(struct totals *t);

/* Everything.  classes: RUN_BINS of them.  Takes the locks one after the other, and the kernel is asked about
   each page: some microseconds a MiB.  Exact when no other thread is at work. */
void snapshot_account(struct account *a, struct class_account *classes);

#endif
