/* The top chunk: taking from it, making it larger, giving its end back. */
#ifndef RUNG_ARENA_TOP_H
#define RUNG_ARENA_TOP_H

#include "arena/arena.h"

/* Cuts csz bytes off the start of top, if it has MIN_CHUNK more than that; NULL otherwise.  What
   lies at or behind *zero_from in the chunk was never written.  Lock held. */
struct chunk *top_carve(struct arena *a, size_t csz, char **zero_from);

/* Makes `t`, `csz` bytes up to the end of the arena's newest memory, the top chunk.  Lock held. */
static inline void top_set(struct arena *a, struct chunk *t, size_t csz) {
    a->top = t;
    chunk_set_head(t, csz | PREV_INUSE);
}

/* Makes top large enough for csz bytes and MIN_CHUNK more (rows D1, D4, C3).  What the old top was,
   if the new one does not continue it, is returned in *orphan, marked in use: the caller frees
   it, also after a no.  False: no such room is to be had; what little was, is in the arena.  Lock
   held. */
bool top_grow(struct arena *a, size_t csz, struct chunk **orphan);

/* Gives back whole pages at the end of top, but keeps `pad` bytes; whole sub-heaps when they are
   empty (row D5).  True if anything went.  Lock held. */
bool top_trim(struct arena *a, size_t pad);

/* The stretches of memory that the main arena lives in: one, unless something moved or blocked the
   break.  The last one ends with top; the others with two fenceposts.  For those who walk over the
   heap; when there are more than the table holds, `count` is MAIN_PIECES + 1 and they cannot.
   Guarded by the main arena's lock. */
enum { MAIN_PIECES = 62 };
struct main_pieces {
    unsigned count;
    struct {
        struct chunk *first;
        char *end; /* of a closed piece */
    } piece[MAIN_PIECES];
};
extern struct main_pieces main_pieces;

/* The lowest and the highest address the main arena has ever reached to. */
struct main_extent {
    _Atomic uintptr_t low, high;
};
extern struct main_extent main_extent;

static inline bool main_may_hold(const void *p) {
    return (uintptr_t)p >= atomic_load_explicit(&main_extent.low, memory_order_relaxed) &&
           (uintptr_t)p < atomic_load_explicit(&main_extent.high, memory_order_relaxed);
}

/* For top_grow and top_trim: the two kinds of arena (arena/top_main.c, arena/top_heap.c). */
bool top_grow_main(struct arena *a, size_t csz, struct chunk **orphan);
bool top_grow_heap(struct arena *a, size_t csz, struct chunk **orphan);
bool top_trim_main(struct arena *a, size_t pad);
bool top_trim_heap(struct arena *a, size_t pad);

/* Closes off the old top, which nothing will continue, with two fenceposts.  What can be used of it
   becomes a chunk in use; NULL when nothing can. */
struct chunk *top_fence_off(struct chunk *old, size_t csz);

/* How much of a top of `csz` bytes can go, in units of `unit`, when `pad` bytes and the chunk itself
   stay; pure. */
size_t top_excess(size_t csz, size_t pad, size_t unit);

#endif
