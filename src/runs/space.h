/* Where runs and large blocks get their pages: the windows, and the free pages in them.
 *
 * What was given back lies on the free pages of its window and is joined with its neighbours by the
 * bitmaps alone.  A request is served from the lowest place that fits: first among pages that are
 * resident, then among all that are free, then from a new window. */
#ifndef RUNG_RUNS_SPACE_H
#define RUNG_RUNS_SPACE_H

#include "guard/lock.h"
#include "options/keep.h"
#include "runs/window.h"

/* Small objects fill their pages, so huge pages serve them well; a large block's owner may touch only
   a part of it, and a huge page would make all of it resident.  And what is small and lives long
   shall not lie between large blocks that come and go. */
enum space_kind {
    SPACE_SMALL,
    SPACE_LARGE,
    SPACE_KINDS,
};

/* What is known of pages that are handed out. */
enum page_state {
    PAGES_RESIDENT, /* some may be resident */
    PAGES_GONE,     /* none is */
    PAGES_ZERO,     /* nor will they show anything but zeros */
};

/* bytes: whole pages, at most WINDOW / 2; align: a power of two of at least a page and at most WINDOW /
   2.  NULL: no memory, or the lock is not to be had. */
char *space_take(enum space_kind kind, size_t bytes, size_t align, enum page_state *state);

/* Gives whole pages back; `gone` has bit p set when page p of the first 16 is not resident any more. */
void space_give(char *start, size_t bytes, uint16_t gone);

/* Makes `bytes` at start `more` longer, in place.  False: those pages are taken. */
bool space_extend(char *start, size_t bytes, size_t more);

/* Returns windows without anything in them to the kernel.  True if there were any. */
bool space_drop_empty(void);

/* Of the empty windows without resident pages, all but one of a kind go.  Lock of space held. */
void space_drop_surplus(void);

extern struct lock space_lock;

/* All of the following is guarded by space_lock. */

/* How much of it all there is, in bytes. */
struct space_totals {
    size_t in_use;        /* taken by runs and blocks */
    size_t resident_free; /* pages nobody has that may be resident */
    size_t system;        /* accessible pages, the windows' heads included */
    size_t heads;
    size_t windows;
};
extern struct space_totals space_totals;

/* What free memory may stay resident (options/keep.h). */
extern struct keep space_keep;

struct space_windows {
    struct run_window *oldest;
    struct run_window *newest;
};
extern struct space_windows space_windows[SPACE_KINDS];

/* Instead of lock_release(&space_lock), for whoever has changed the totals. */
void space_leave(void);

/* Bytes of idle pages in runs that are in use (runs/idle.h).  Written by whoever holds the lock of a size. */
extern _Atomic size_t runs_idle;

#endif
