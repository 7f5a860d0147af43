/* Rung 4: a chunk from an arena's bins or top; rung 5 when those fail. */
#ifndef RUNG_ARENA_ALLOCATE_H
#define RUNG_ARENA_ALLOCATE_H

#include "arena/arena.h"
#include "arena/batch.h"

/* What is asked for, and what comes back beside the chunk. */
struct order {
    size_t csz;
    struct batch *fill; /* more chunks of this size that come up on the way go here; NULL: none */
    bool want_zero;     /* the caller clears what is not known to be zero */
    char *zero_from;    /* out: from here to the end of the chunk, memory was never written */
};

/* A chunk in use of at least order->csz bytes: from the bins, the top, more memory from the kernel,
   or a mapping of its own, in this order (row D2 explains the last).  NULL: none of that.
   Lock held. */
struct chunk *arena_alloc(struct arena *a, struct order *o);

/* The same without any arena: a mapping. */
struct chunk *alloc_without_arena(struct order *o);

#endif
