/* The cache in front of runs (rungs 1 to 3).
 *
 * It begins with the very structure of cache/tcache.h, so that the hot path is the same, and adds what
 * that one cannot do:
 *
 *   front       the linear bins, 16 to 1024 bytes
 *   medium      the bins above, to 32 KiB, reached off the hot path
 *   spare       a full bundle a bin: a program that swings by one object around empty or full
 *               exchanges two bundles with itself, not with others
 *   cap         how many objects a bin holds; it deepens when the spare did not help, within a
 *               budget of bytes for the thread
 *
 * What goes beyond the spare goes to the depot (cache/depot.h) whole, and to the runs when the depot
 * is full.  No list is ever walked here. */
#ifndef RUNG_CACHE_DEEP_H
#define RUNG_CACHE_DEEP_H

#include "cache/tcache.h"
#include "runs/run.h"

enum { MEDIUM_BINS = RUN_BINS - RUN_SMALL_BINS };

struct deep_cache {
    struct tcache front;
    uint16_t medium_room[MEDIUM_BINS];
    struct cached *medium_head[MEDIUM_BINS];
    uint16_t cap[RUN_BINS];
    struct bundle spare[RUN_BINS];
    size_t budget; /* bytes that caps may still be raised by */
};

_Static_assert((int)RUN_SMALL_BINS == (int)TCACHE_SMALL_BINS, "front's linear bins are the small runs'");

/* Whether the calling thread's cache is one of these. */
static HOT bool deep_is_live(void) {
    return self.bias == BIAS_RUNS;
}

static HOT struct deep_cache *deep_cache(void) {
    return (struct deep_cache *)self.tcache;
}

/* Gives the calling thread such a cache; false: no memory for it. */
bool deep_start(void);

/* Everything in it goes to the depot or the runs, and the cache is returned. */
void deep_stop(void);

/* An object of the bin: from the cache, from the depot, from the runs.  NULL: no memory. */
void *deep_take(unsigned bin);

/* Puts an object into the bin, whatever its room. */
void deep_put(unsigned bin, void *mem);

#endif
