/* Rung 3: runs.  Small objects without headers.
 *
 * A run is 64 KiB of objects of one size; a window (chunk/window.h) holds a thousand of them, and at
 * its start what is known of each:
 *
 *   64 MiB boundary
 *   +-----------+-------------+---------+---------+-----
 *   | bin[1024] | run[1024]   | run 1   | run 2   | ...
 *   +-----------+-------------+---------+---------+-----
 *   |<- a run's room -------->|
 *
 * From any address the window is one mask away, the run's number is in the bits below, and bin[] says
 * which size its objects have: free reads no byte near the object to find that out.
 *
 * A run's objects are in three places: handed out (to users, caches or the depot; the run does not
 * know which), returned (linked, newest first), or fresh (never touched, from an offset on).  A run
 * that gets its last object back becomes free whole, and can serve any size. */
#ifndef RUNG_RUNS_RUN_H
#define RUNG_RUNS_RUN_H

#include "base/list.h"
#include "chunk/cached.h"
#include "chunk/window.h"
#include "guard/lock.h"
#include "runs/size_class.h"

#define RUN_SHIFT 16
#define RUN_SIZE ((size_t)1 << RUN_SHIFT)

enum {
    RUNS_A_WINDOW = 1 << (WINDOW_SHIFT - RUN_SHIFT),
    FIRST_RUN = 1, /* those before hold the window's head */
};

struct run {
    struct link link;        /* among the runs of its bin that can give, or among the free runs */
    struct cached *returned;
    uint32_t returned_count;
    uint32_t out;            /* objects handed out */
    uint32_t fresh;          /* offset of the first object never handed out */
    uint8_t bin;
    bool listed;             /* in the list of its bin */
    bool resident;           /* free: its pages may be there */
    uint64_t purged_at;      /* free: when its pages were given back; 0: never */
};

struct run_window {
    uint8_t bin[RUNS_A_WINDOW]; /* read without a lock: constant while any object is out */
    struct run run[RUNS_A_WINDOW];
};

static HOT bool in_run(const void *mem) {
    return window_use_of(mem) == WINDOW_RUNS;
}

/* Of an object in a run. */
static HOT unsigned run_bin_of(const void *mem) {
    const struct run_window *w = window_of(mem);
    return w->bin[(uintptr_t)mem >> RUN_SHIFT & (RUNS_A_WINDOW - 1)];
}

/* Hands out up to `want` objects of the bin, at least one.  False: no memory, or the lock is not to
   be had. */
bool runs_take(unsigned bin, size_t want, struct bundle *b);

/* Takes objects of one bin back.  Those that are not in runs are left in *b (chunks of arenas can
   share a cache's bin with them); false: the lock is not to be had, and all are. */
bool runs_give(unsigned bin, struct bundle *b);

/* Whether mem can be an object of its run at all: it starts where objects start. */
bool run_object_plausible(const void *mem);

/* The run's place for an object, and the object's size. */
static inline size_t run_object_size(const void *mem) {
    return run_bin_size(run_bin_of(mem));
}

/* Gives back the pages of free runs until at most `bytes` of them may be resident.  True if
   anything was released. */
bool runs_purge(size_t bytes);

/* NULL when all is sound, otherwise what is wrong; *where: the run at fault. */
const char *runs_check(const void **where);

struct runs_totals {
    size_t used;          /* bytes of runs that have objects out */
    size_t out;           /* bytes of the objects out: users', caches' and the depot's */
    size_t resident_free; /* bytes of whole free runs that may be resident */
    size_t system;        /* bytes of the windows made accessible so far */
};
void runs_count(struct runs_totals *t);

/* Calls f for each of the layer's locks that was ever used (life/fork.c). */
void runs_each_lock(void (*f)(struct lock *, void *), void *arg);

#endif
