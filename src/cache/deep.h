/* The cache in front of runs (rungs 1 to 3): a stack of pointers a size.
 *
 *                         slots
 *                         +------+----------+----------+- - -+- - - - -+
 *                         | NULL | object 1 | object 2 |     | cap     |
 *                         +------+----------+----------+- - -+- - - - -+
 *   top[bin]  ------------------------------^                ^   the object that is handed out next;
 *                                                            |   at NULL the bin is empty
 *   full[bin] -----------------------------------------------+   where top may not go beyond
 *
 * Before a bin's first use both lead to a NULL that all share: it is empty, and full.  So is, for ever,
 * the bin behind the last size, which stands for what lies in no run (SLOT_PAGES): the hot path of free
 * need not ask whether the pointer is an object's.  Behind it are the bins of blocks up to 256 KiB,
 * which are off the hot path.
 *
 * The objects themselves are not linked, so neither putting away, taking out, nor passing on reads
 * one: what went cold stays untouched.  Written is the key (chunk/cached.h), which tells of a
 * second free.
 *
 * A bin that is empty or full takes or leaves half of what it holds at the depot (cache/depot.h),
 * or at the runs.  It deepens each time it had to, within a budget of bytes for the thread, of which most
 * is for bins that are worth it (cache/worth.h); bins that had no need to for a while become shallow
 * again. */
#ifndef RUNG_CACHE_DEEP_H
#define RUNG_CACHE_DEEP_H

#include "base/self.h"
#include "cache/worth.h"
#include "chunk/cached.h"
#include "runs/size_class.h"
#include "runs/window.h"

/* What the hot path does not need. */
struct deep_depth {
    void **slots;   /* NULL: the bin was never used */
    uint16_t cap;   /* objects */
    uint16_t length; /* slots there is memory for, the first included */
    bool missed;    /* it was empty or full since it was last looked at */
    struct worth worth;
};

/* The bins: the sizes of runs, the one that stands for none of them, the blocks. */
enum {
    DEEP_BLOCKS = RUN_BINS + 1,
    DEEP_BINS = DEEP_BLOCKS + BLOCK_BINS,
};

struct deep {
    void **top[DEEP_BINS];
    void **full[DEEP_BINS];
    struct deep_depth depth[DEEP_BINS];
    size_t spent[2]; /* bytes that all bins together may hold: of objects, of blocks */
    unsigned hand; /* the bin that is looked at next */
    unsigned visits;
    bool seen_parked; /* parked_age() has met it since a thread had it */
};

/* ---- the hot path ---- */

/* NULL: the bin is empty. */
static HOT void *deep_pop(struct deep *d, size_t bin) {
    void **top = d->top[bin];
    struct cached *e = *top;
    if (LIKELY(e != NULL)) {
        d->top[bin] = top - 1;
        e->key = 0;
    }
    return e;
}

/* Of an object that does not carry the key.  False: it does, or the bin is full. */
static HOT bool deep_push(struct deep *d, size_t bin, void *mem) {
    void **top = d->top[bin];
    struct cached *e = mem;
    if (UNLIKELY(top == d->full[bin]) || UNLIKELY(e->key == cached_key))
        return false;
    top[1] = mem;
    d->top[bin] = top + 1;
    e->key = cached_key;
    return true;
}

/* ---- off the hot path ---- */

/* What threads without such a cache have: all bins empty and full. */
extern struct deep deep_none HIDDEN;

static HOT bool deep_is_live(void) {
    return self.deep != &deep_none;
}

/* Gives the calling thread such a cache; false: no memory for it. */
bool deep_start(void);

/* The calling thread has none any more: the next thread may have it, little of what lies in it included
   (cache/parked.h). */
void deep_stop(void);

/* Everything in it goes to the depot or the runs, and the cache, which is no thread's, is no more. */
void deep_end(struct deep *d);

/* An object of the bin: from the cache, from the depot, from the runs.  NULL: no memory. */
void *deep_take(unsigned bin);

/* Puts an object into the bin, whatever its room. */
void deep_put(unsigned bin, void *mem);

/* A block of block_bin_size(bin) bytes from the cache; NULL: there is none. */
void *deep_take_block(unsigned bin);

/* Puts a marked block of that size into the cache. */
void deep_put_block(unsigned bin, void *mem);

/* Whether the object lies in d. */
bool deep_holds(const struct deep *d, unsigned bin, const void *mem);

/* Everything in it goes to the depot or the runs. */
void deep_empty(struct deep *d);

/* The bytes of the objects in d. */
size_t deep_bytes(const struct deep *d);

#endif
