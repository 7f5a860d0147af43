/* A chunk comes back to its arena. */
#ifndef RUNG_ARENA_RELEASE_H
#define RUNG_ARENA_RELEASE_H

#include "arena/arena.h"

/* Row D5: only a merged free chunk of at least this size makes free think of giving memory back. */
#define TRIM_ATTEMPT (64 * KIB)

/* Merges c, a chunk in use of csz bytes that lies in `a`, with its free neighbours and puts the
   result into top or its bin.  Returns the size of the result.  Ends the process when the chunk
   or its neighbours cannot be right.  Lock held. */
size_t arena_join(struct arena *a, struct chunk *c, size_t csz);

/* The same, and then gives memory back if the result calls for it.  Lock held. */
void arena_free(struct arena *a, struct chunk *c, size_t csz);

/* Makes the csz bytes at c, which lie between a chunk in use and `next`, a free chunk (merged with
   `next` if that is free, into top if that is top) and returns its size.  Lock held. */
size_t arena_make_free(struct arena *a, struct chunk *c, size_t csz, struct chunk *next);

/* Row D5, for a chunk of csz bytes that has just become free; where memory comes back in another way
   (arena/purge.h), nothing.  Lock held. */
void arena_maybe_trim(struct arena *a, size_t csz);

#endif
