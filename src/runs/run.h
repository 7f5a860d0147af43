/* Rung 3: runs.  Small objects without headers.
 *
 * A run is a slot of 64 KiB with objects of one size (runs/window.h draws where its data lies).  A
 * bit an object says whether it is free; everything else is handed out, to users, caches or the depot,
 * the run does not know which.  So nothing is ever read or written in a free object's memory, a
 * second free of an object that came back is seen whatever its owner wrote, and of each page it is
 * known when nothing on it is used any more (runs/idle.h).
 *
 * Objects are handed out from the fullest runs first, and the lowest free ones of a run: the others
 * empty, and a run that gets its last object back becomes free pages again. */
#ifndef RUNG_RUNS_RUN_H
#define RUNG_RUNS_RUN_H

#include "guard/lock.h"
#include "runs/size_class.h"
#include "runs/window.h"

/* Hands out up to `want` objects of the bin into out[], the lowest address last.  Returns how many; 0:
   no memory, or the lock is not to be had. */
size_t runs_take(unsigned bin, void **out, size_t want);

/* Takes n objects of the bin back; each belongs to a run of that bin.  False: the lock is not to be had,
   and nothing has happened.  Ends the process when one is free already, or no object. */
bool runs_give(unsigned bin, void *const *objects, size_t n);

/* Whether mem, which lies in a run, is where an object of it starts. */
bool run_object_plausible(const void *mem);

/* Whether it lies with the run, free.  False as well when that cannot be found out. */
bool run_object_is_free(const void *mem);

static inline size_t run_object_size(const void *mem) {
    return run_bin_size(run_bin_of(mem));
}

/* Purges the idle pages of all runs that are in use, whatever may stay.  True if any went. */
bool runs_purge_idle(void);

/* Purges those that nobody has wanted for purge_delay, as far as they may not stay.  True if any went. */
bool runs_purge_aged(void);

/* NULL when all is sound, otherwise what is wrong; *where: the run at fault. */
const char *runs_check(const void **where);

struct runs_totals {
    size_t used;   /* bytes of runs that have objects out */
    size_t out;    /* bytes of the objects out: users', caches' and the depot's */
    size_t idle;   /* bytes of pages without an object out, in those runs, that may be resident */
    size_t gone;   /* the same, given back */
};
void runs_count(struct runs_totals *t);

/* Takes every lock of the layer, so that whoever looks sees one instant, until runs_let_go().  False: one of
   them was not to be had for long: a fork is under way, or this is a signal handler. */
bool runs_hold_still(void);
void runs_let_go(void);

/* Calls f for each of the layer's locks that was ever used (life/fork.c). */
void runs_each_lock(void (*f)(struct lock *, void *), void *arg);

#endif
