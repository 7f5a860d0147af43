/* How much memory is the library's and may be resident, and whether more may be taken.
 *
 * The account: what arenas have from the kernel, mapped chunks and those that wait for reuse, own structures, the pages of runs and
 * large blocks that are in use or free and resident, and the heads of their windows.  Pages that were
 * given back are not in it, as far as that is known: inside of arenas it is not.
 *
 * Who is about to take pages asks first, and says so when they are in the account or have come to nothing;
 * in between others take them for granted.  So threads that ask at the same time cannot exceed the hard limit
 * together.  As long as nobody has set a limit, asking is one load and a comparison.
 *
 * What has to be done because of it cannot be done here, where locks are held: it is noted for the
 * calling thread (self.due), which looks on its way out (life/attend.h). */
#ifndef RUNG_CHUNK_FOOTPRINT_H
#define RUNG_CHUNK_FOOTPRINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/self.h"

/* In self.due. */
enum {
    DUE_SOFT_LIMIT = 1,   /* this thread took the account beyond the soft limit */
    DUE_PURGE_THREAD = 2, /* there is memory to look after, and nobody who does */
    DUE_REFUSED = 4,      /* this thread was refused memory because of the hard limit */
    DUE_AGAIN = 8,        /* it tries once more after such a refusal */
    DUE_BUSY = 16,        /* it is at it: not again from within */
};

/* Somebody has set a limit, or wants a purge thread that is not there. */
extern _Atomic bool footprint_watched HIDDEN;

bool footprint_ask_slow(size_t bytes);
void footprint_told_slow(void);

static HOT bool footprint_is_watched(void) {
    return UNLIKELY(atomic_load_explicit(&footprint_watched, memory_order_relaxed));
}

/* False: the hard limit does not allow so many more.  After each yes, footprint_told() is due. */
static HOT bool footprint_ask(size_t bytes) {
    return !footprint_is_watched() || footprint_ask_slow(bytes);
}

/* What this thread has asked for is in the account, or is not needed. */
static HOT void footprint_told(void) {
    if (UNLIKELY(self.asked != 0))
        footprint_told_slow();
}

/* The account. */
size_t footprint(void);

/* Of the account, windows of runs have `bytes` now, pages that were given back in runs included.  Lock of
   space held. */
void footprint_set_windows(size_t bytes);

/* So many bytes in runs were given back (or, negative, are used again). */
void footprint_gone(ptrdiff_t bytes);

/* The kernel or the hard limit has refused a request of so many bytes, or they are more than it can have many of:
   whether it could be served if everything that is held were given back.  Holds that much less for a moment to
   find out, so a no costs one refused call and takes nothing from anybody. */
bool footprint_could_serve(size_t bytes);

/* Of `have` bytes that are free and resident, how many may stay for the limits' sake: half of the room
   that what is in use leaves below them, so that free memory alone never reaches a limit.  SIZE_MAX: there
   is no limit. */
size_t footprint_may_keep(size_t have);

/* Sets footprint_watched. */
void footprint_watch(void);

/* At start-up, once the options are read: the control group's limit, if it is asked for and none is set. */
void footprint_begin(void);

/* The options have changed. */
void footprint_limits_changed(void);

/* ---- for reclaim/limit.c ---- */

/* Everything that can go has gone; whoever takes much beyond what is left has to try again. */
void footprint_purged(void);

/* True once after each time the account was clearly below the soft limit. */
bool footprint_crossing(void);

/* There is free memory that may age: the purge thread wakes, or shall be started. */
void footprint_ages(void);

/* In the child of a fork: only the calling thread's requests are under way. */
void footprint_fork_child(void);

#endif
