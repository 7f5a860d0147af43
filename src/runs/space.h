/* Where runs come from and go to: the windows, and the free runs in them. */
#ifndef RUNG_RUNS_SPACE_H
#define RUNG_RUNS_SPACE_H

#include "runs/run.h"

/* A free run, not in any list; `bin` is set.  NULL: no memory, or the lock is not to be had. */
struct run *space_take(unsigned bin);

/* Back; all its objects have returned.  When the lock is not to be had the run is lost. */
void space_give(struct run *r);

char *run_start(const struct run *r);
struct run *run_of(const void *mem);

extern struct lock space_lock;

/* The windows, newest first; `next` is the older one.  Guarded by space_lock. */
struct run_window *space_first_window(void);
struct run_window *space_next_window(const struct run_window *w);

/* How many runs of the window were ever used, those of its head included. */
unsigned space_used_runs(const struct run_window *w);

size_t space_resident_free(void);
size_t space_system(void);

#endif
