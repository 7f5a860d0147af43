/* Rung 1: a thread's private cache of freed objects (rows B1-B7).  No lock anywhere.
 *
 *   struct tcache                       a cached chunk
 *   +-------------------+               c -> +--------------------------+
 *   | room[76]          |                    | lent                     |
 *   +-------------------+                    +--------------------------+
 *   | head[0] 32 bytes  | ------------> mem  | size |A|0|P|  (in use!)  |
 *   | head[1] 48        |                    +--------------------------+
 *   | ...               |          stored -> | next, masked             |
 *   | head[63] 1040     |                    | key                      |
 *   | head[64] -2047    |                    +--------------------------+
 *   | ...               |
 *   | head[75] -4 MiB   |
 *   +-------------------+
 *
 * room   how many more objects a bin takes: counted down, so that "is there room?" and "is this bin
 *        in use at all?" are one comparison with zero.
 * next   the following object's address XOR (the address of this word >> 12), so that an overwritten
 *        freed block leads nowhere in particular; a decoded pointer that is not aligned ends the
 *        process (safe-linking; the idea is described in the Check Point paper of 2020).
 * key    a random word per process.  A block that is freed with the key in place is probably in the
 *        cache already: the lists are walked to be sure.
 *
 * To the arena a cached chunk is in use.
 *
 * Bins 0..63 hold one size each; 64..75 hold a power of two's range each, sorted by size, and are
 * empty unless `tcache_max` is raised.
 *
 * The thread's pointer is never NULL.  Before the first free it leads to an all-zero cache that is
 * `inactive`, for ever after a failed or forbidden start and at the thread's end to one that is
 * `disabled`: both have nothing to pop and no room, so that the hot path needs no test for them. */
#ifndef RUNG_CACHE_TCACHE_H
#define RUNG_CACHE_TCACHE_H

#include <stdbool.h>

#include "arena/batch.h"
#include "base/self.h"
#include "chunk/cached.h"
#include "chunk/chunk.h"
#include "guard/fatal.h"

enum {
    TCACHE_SMALL_BINS = 64,
    TCACHE_LARGE_BINS = 12,
    TCACHE_BINS = TCACHE_SMALL_BINS + TCACHE_LARGE_BINS,
};

#define TCACHE_SMALL_MAX ((size_t)1040)

struct tcache {
    uint16_t room[TCACHE_BINS];
    struct cached *head[TCACHE_BINS];
};

_Static_assert(sizeof(struct tcache) == 760, "row B1");

extern struct tcache tcache_inactive HIDDEN;
extern struct tcache tcache_disabled HIDDEN;

/* ---- the hot path ---- */

/* Above every real bin for sizes past the linear bins, and for sizes that are no chunk's. */
static HOT size_t tcache_bin_of_head(size_t head) {
    return head / ALIGNMENT - MIN_CHUNK / ALIGNMENT;
}

/* The bin whose chunks hold req bytes: bin 0 holds up to 24, the others 16 more each.  Past the linear
   bins the numbers go on. */
static HOT size_t tcache_bin_of_request(size_t req) {
    size_t over;
    if (__builtin_sub_overflow(req, MIN_CHUNK - OVERHEAD - ALIGNMENT + 1, &over))
        over = 0;
    return over / ALIGNMENT;
}

/* The bytes every chunk of a linear bin holds. */
static HOT size_t tcache_bin_usable(size_t bin) {
    return bin * ALIGNMENT + MIN_CHUNK - OVERHEAD;
}

/* From a bin that holds something. */
static HOT void *tcache_pop(struct tcache *t, size_t bin) {
    struct cached *e = t->head[bin];
    struct cached *next = unmask_next(e);
    if (UNLIKELY(!ptr_is_aligned(next, ALIGNMENT)))
        die(MSG_MALLOC_TCACHE_ALIGN, e, e->masked_next);
    t->head[bin] = next;
    t->room[bin]++;
    e->key = 0;
    return e;
}

/* Into a bin that has room. */
static HOT void tcache_push(struct tcache *t, size_t bin, void *mem) {
    struct cached *e = mem;
    e->key = cached_key;
    mask_next(e, t->head[bin]);
    t->head[bin] = e;
    t->room[bin]--;
}

/* ---- off the hot path ---- */

/* Gives the calling thread a live cache, or the disabled one if that is not to be.  Nothing happens
   if it has either already. */
void tcache_start(void);

/* At the thread's end: every object goes to its arena, the cache is returned. */
void tcache_stop(void);

static HOT bool tcache_is_inactive(const struct tcache *t) {
    return t == &tcache_inactive;
}

/* The bin, linear or not, for chunks of this size; TCACHE_BINS when they are not cached at all. */
size_t tcache_bin(size_t csz);

/* From a large bin: an object whose chunk has at least csz bytes and less than twice that; NULL:
   none. */
void *tcache_pop_large(struct tcache *t, size_t bin, size_t csz);

/* Into a large bin that has room. */
void tcache_push_large(struct tcache *t, size_t bin, void *mem);

/* The first object of csz bytes that happens to be aligned, from the bin for that size; NULL: there is none. */
void *tcache_pop_aligned(struct tcache *t, size_t csz, size_t align);

/* The objects that an arena added on the way (arena/batch.h) become cached ones. */
void tcache_accept(struct tcache *t, size_t bin, struct batch *b);

/* `mem` carries the key: ends the process if it lies in the cache of the calling thread; returns when
   that was chance, after erasing the key. */
void tcache_check_double_free(struct tcache *t, void *mem);

/* The bytes of the chunks in the calling thread's cache. */
size_t tcache_bytes(const struct tcache *t);

#endif
