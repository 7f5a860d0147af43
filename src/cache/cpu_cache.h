/* The cache in front of runs (rungs 1 to 3), one a CPU: a stack of pointers a size.
 *
 *                         slots
 *                         +------+----------+----------+- - -+- - - - -+
 *                         | NULL | object 1 | object 2 |     | cap     |
 *                         +------+----------+----------+- - -+- - - - -+
 *   top[bin]  ------------------------------^                ^   the object that is handed out next;
 *                                                            |   at NULL the bin is empty
 *   full[bin] -----------------------------------------------+   at it or beyond it top may not rise
 *
 * Before a bin's first use top leads to a NULL that all share, and full is NULL: it is empty, and full.  So is,
 * for ever, the bin behind the last size, which stands for what lies in no run (SLOT_PAGES): the hot path of free
 * need not ask whether the pointer is an object's.  Behind it are the bins of blocks up to 256 KiB,
 * which are off the hot path.
 *
 * Objects are neither linked nor written nor read here: what went cold stays untouched, and a page that a
 * forked parent shares stays shared.  A second free right behind the first finds the object on top; any other is
 * found when the object goes home, where each has a bit.
 *
 * Who may change what: top and the slots change in restartable steps, by whoever runs on the CPU (cache/steps.h).
 * full, and where a bin's slots are, change so too, but only by the one who holds the cache's lock; while slots are
 * exchanged, full is NULL, and nothing can be put into the bin.
 *
 * How deep a bin is: it doubles each time it was empty or full, from one object on, as far as the cache's budget
 * allows; bins that were neither for a while become shallow again. */
#ifndef RUNG_CACHE_CPU_CACHE_H
#define RUNG_CACHE_CPU_CACHE_H

#include <stdbool.h>

#include "cache/hot.h"
#include "guard/lock.h"
#include "runs/size_class.h"

/* The bins: the sizes of runs, the one that stands for none of them, the blocks. */
enum { CACHE_BLOCKS = RUN_BINS + 1 };
_Static_assert(CACHE_BINS == CACHE_BLOCKS + BLOCK_BINS, "the assembler's word for it");

/* What the hot path does not need. */
struct cpu_bin {
    void **slots;    /* NULL: the bin was never used */
    uint16_t cap;    /* objects */
    uint16_t length; /* slots there is memory for, the first included */
    bool missed;     /* it was empty or full since it was last looked at */
};

struct cpu_cache {
    void **top[CACHE_BINS];
    void **full[CACHE_BINS];
    /* The rest is guarded by the lock, which nobody waits for. */
    struct cpu_bin bin[CACHE_BINS];
    struct lock lock;
    int number;       /* of the CPU, or the seat */
    size_t spent[2];  /* bytes that all bins together may hold: of objects, of blocks */
    unsigned hand;    /* the bin that is looked at next */
    _Atomic unsigned visits; /* off the hot path */
    unsigned round;   /* of those that caches_ask_to_empty() calls out, the last that was followed */
    unsigned aged_visits; /* what visits was when the cache was last looked at for its age... */
    bool asked;           /* ... and whether it was asked to empty since a call came; both are the looker's */
    struct cpu_cache *next; /* in the list of all */
};

_Static_assert(offsetof(struct cpu_cache, full) == CACHE_FULL, "the assembler's word for it");

/* What is nobody's: all bins empty and full. */
extern struct cpu_cache no_cache HIDDEN;

/* All that were ever made.  The list only grows. */
extern struct cpu_cache *_Atomic cpu_caches HIDDEN;

/* At start-up, when the options are read. */
void caches_begin(void);

/* Off the hot path, once a thread becomes known: from now on objects are cached, if the options say so. */
void caches_switch_on(void);

/* Whether objects are cached in this process. */
static HOT bool caches_are_on(void) {
    return hot_limit() != 0;
}

/* The process has a second thread since, and its only thread had a seat: every CPU has a cache from now on. */
void caches_go_shared(void);

/* For calls that a first thread makes on its way to a second one. */
static HOT void caches_look_around(void) {
    extern _Atomic bool caches_are_alone HIDDEN;
    if (UNLIKELY(atomic_load_explicit(&caches_are_alone, memory_order_relaxed)) && !single_threaded())
        caches_go_shared();
}

/* The calling thread ends: its seat, if it has one, is free. */
void caches_leave_seat(void);

/* The thread that had this seat, if any (-1), has ended unnoticed: it is the calling thread's, or free if that has
   one already. */
void caches_inherit_seat(int number);

/* An object of the bin: from the cache, from the depot, from the runs.  NULL: no memory. */
void *cache_take(unsigned bin);

/* Puts an object into the bin, whatever its room. */
void cache_put(unsigned bin, void *mem);

/* Whether the object is the newest in its bin. */
bool cache_has_on_top(unsigned bin, const void *mem);

/* A block of block_bin_size(bin) bytes from the cache; NULL: there is none. */
void *cache_take_block(unsigned bin);

/* Puts a marked block of that size into the cache. */
void cache_put_block(unsigned bin, void *mem);

/* Everything in the cache of this CPU goes home, past the depot. */
void caches_empty_here(void);

/* The same of all others, at the next call there that is no hit. */
void caches_ask_to_empty(void);

/* Like both, of those that nobody called on, but for hits, since the last time.  True: something is left. */
bool caches_age(void);

/* Of an object, or a block, of the bin; 0: of the bin that stands for none. */
size_t cache_bin_size(unsigned bin);

/* The bytes of the objects in a cache. */
size_t cache_bytes(const struct cpu_cache *c);

/* How many objects lie in a bin. */
static inline size_t cache_count(const struct cpu_cache *c, unsigned bin) {
    const struct cpu_bin *b = &c->bin[bin];
    size_t n = ((uintptr_t)c->top[bin] - (uintptr_t)b->slots) / sizeof(void *);
    return b->slots != NULL && n < b->length ? n : 0; /* else it is just being made longer, or never used */
}

/* Calls f for each cache's lock. */
void caches_each_lock(void (*f)(struct lock *, void *), void *arg);

#endif
