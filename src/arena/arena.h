/* An arena: an independent heap with one lock and its own bins.
 *
 * There is one main arena, which grows with the program break, and any number of secondary ones,
 * which grow in sub-heaps (arena/heap.h).  Arenas are never destroyed: when the last thread leaves
 * one it is parked whole and the next thread inherits it (arena/arenas.h). */
#ifndef RUNG_ARENA_ARENA_H
#define RUNG_ARENA_ARENA_H

#include <stdatomic.h>

#include "arena/bin.h"
#include "base/counter.h"
#include "chunk/footprint.h"
#include "guard/lock.h"

struct arena {
    struct lock lock; /* guards what follows, up to the line */

    struct bins bins;
    struct chunk *top;            /* the free chunk at the end; NULL before the first growth */
    struct chunk *last_remainder; /* what was left of the last split for a small request */
    char *dirty_end;              /* from here to the end of top nothing was ever written (calloc) */
    size_t system;                /* bytes in use from the kernel */
    size_t system_max;
    bool main;
    bool contiguous; /* main: every growth so far continued at the break */

    /* Which free memory may be resident (arena/pages.h), and its way back (arena/purge.h). */
    bool purges;            /* whether any of this is kept */
    struct link resident;   /* free chunks with resident pages */
    size_t resident_bytes;  /* of those */
    size_t free_pages;      /* bytes of whole pages in free chunks, resident or not; without top */
    char *top_touched;      /* from here on top is not resident */
    size_t top_low;         /* top's least size */
    uint64_t top_low_since; /* since then */
    size_t top_gone;        /* bytes of top lately given back */
    uint64_t top_gone_at;
    size_t wanted_back;     /* bytes given back and used again, since the last look */
    uint64_t wanted_back_at;
    uint64_t looked_at;
    size_t look_above;      /* the next look is due when more than this may be resident */
    unsigned unlooked;      /* operations since the last look */
    size_t most_in_use;     /* since the last look */
    size_t published_resident, published_in_use; /* arena/budget.h */

    /* --- no lock --- */
    _Atomic(struct chunk *) inbox; /* blocks freed by those who could not take the lock */
    struct arena *_Atomic next;    /* all arenas, in a ring that only grows */

    /* --- guarded by the list's lock (arena/arenas.c) --- */
    unsigned number;          /* 0 is the main arena */
    _Atomic unsigned threads; /* bound to it; atomic, see arena_unbind() */
    bool parked;
    bool abandoned; /* a fork caught it in mid-operation, and this is the child (life/fork.c) */
    struct arena *next_parked;
};

extern struct arena main_arena HIDDEN;

static HOT size_t arena_flag(const struct arena *a) {
    return a->main ? 0 : SECONDARY;
}

static HOT size_t top_size(const struct arena *a) {
    return a->top != NULL ? chunk_size(a->top) : 0;
}

/* Takes the lock and empties the inbox.  False: the lock is not to be had (guard/lock.h), and the
   caller serves itself without the arena. */
static inline bool arena_enter(struct arena *a);
static inline void arena_leave(struct arena *a) {
    lock_release(&a->lock);
}

/* Leaves a block in use with the arena without its lock; whoever enters next frees it. */
void arena_post(struct arena *a, struct chunk *c);

/* Frees what was posted.  Lock held. */
void arena_empty_inbox(struct arena *a);

static inline bool arena_enter(struct arena *a) {
    if (UNLIKELY(!lock_take(&a->lock)))
        return false;
    if (UNLIKELY(atomic_load_explicit(&a->inbox, memory_order_relaxed) != NULL))
        arena_empty_inbox(a);
    return true;
}

/* Notes a change of the bytes obtained from the kernel.  Lock held. */
static inline void arena_grew(struct arena *a, size_t bytes) {
    a->system += bytes;
    a->system_max = size_max(a->system, a->system_max);
    counter_add(COUNT_ARENA_BYTES, bytes);
    footprint_told();
}

static inline void arena_shrank(struct arena *a, size_t bytes) {
    a->system -= bytes;
    counter_sub(COUNT_ARENA_BYTES, bytes);
}

#endif
