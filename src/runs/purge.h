/* Free pages go back to the kernel: those beyond what may stay resident (options/keep.h) when they
 * come, in bounded steps, the highest addresses first, since what is lower is taken first; those that
 * nobody has wanted for `purge_delay`, whenever pages are taken or given at all; and when the program
 * grows beyond its peak, as many as it takes, since what lies free then did not fit.
 *
 * What was purged is known to be gone: it is not purged twice, and a large block on it is known to be
 * zero.  Where huge pages were asked for, a group of 2 MiB goes back whole, when all of it is free; or
 * it is given up as a huge page once the half of it is free.  It becomes one again only for a large block
 * that wants all of it back soon. */
#ifndef RUNG_RUNS_PURGE_H
#define RUNG_RUNS_PURGE_H

#include "runs/window.h"

/* ---- lock of space held ---- */

/* `bytes` have just become free. */
void purge_beyond_share(size_t bytes);

void purge_by_age(void);

/* Pages that were not resident have been taken.  Where that would raise the most that ever was resident,
   other free pages go instead, all but the floor. */
void purge_before_growth(void);

/* Whether more is resident than the share and the floor alone would allow. */
bool purge_keeps_beyond_share(void);

/* `bytes` that were purged at `purged_us` are wanted again.  Whether that was soon. */
bool purge_regret(size_t bytes, uint64_t purged_us, uint64_t now);

/* g is a huge page no more, and will not silently become one. */
void purge_break_group(struct run_window *w, struct group *g);

/* Whether a purged page reads as zeros.  Some kernels and emulators accept MADV_DONTNEED and do
   nothing; the first purge finds out. */
bool purge_zeroes(void);

/* ---- lock of the run's size held ---- */

/* Whether so much is resident that idle pages of runs shall go; a glance without the lock of space. */
bool purge_wants_idle(void);

/* After idle pages of a run have appeared: whoever looks after such shall wake. */
void purge_nudge_idle(void);

enum purge_why {
    PURGE_BEYOND_SHARE, /* more is there than may be */
    PURGE_AGED,         /* they were not wanted for purge_delay */
    PURGE_ALL,          /* somebody has asked for it */
};

/* Purges the idle pages of r, which is in no list of idle runs.  False: they may stay. */
bool purge_idle(struct run *r, enum purge_why why);

/* ---- no lock held ---- */

/* What purge_by_age() does, for all that is old now.  *excess: what is there beyond the allowance.  False:
   so little is resident that age will take nothing of it. */
bool purge_all_by_age(size_t *excess);

/* Purges free pages until at most `keep` bytes of them are resident.  True if any went. */
bool purge_free_pages(size_t keep);

#endif
