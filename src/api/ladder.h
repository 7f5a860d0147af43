/* The rungs below the hot path, composed.  Every allocating function of the interface that misses
   the cache comes through here. */
#ifndef RUNG_API_LADDER_H
#define RUNG_API_LADDER_H

#include "arena/arena.h"
#include "chunk/chunk.h"

/* A block for req bytes; from `*zero_from` on (at most to the block's end) it is known to hold zeros.
   NULL in the place of zero_from: that is of no interest.
   NULL, errno ENOMEM: req is absurd or there is no memory. */
void *climb(size_t req, char **zero_from);

/* The same with the block aligned to `align`, a power of two of at least MIN_CHUNK. */
void *climb_aligned(size_t align, size_t req);

/* A chunk of csz bytes from arena `a` (or a mapping of its own), past the thread's cache, into which its
   siblings go.  NULL: the arena can have no such memory.  Lock of a held. */
struct chunk *climb_in_arena(struct arena *a, size_t csz);

/* What the user of a block may use. */
size_t block_usable(const void *mem);

/* free, for a pointer that is not NULL.  errno survives. */
void descend(void *mem);

/* The same for a chunk outside of runs, past the thread's cache. */
void descend_to_arena(struct chunk *c);

/* There is no memory, or no more is allowed: what is held without need may be in the way.  True if something
   went, so that the caller shall try again, once. */
bool make_room(void);

#endif
