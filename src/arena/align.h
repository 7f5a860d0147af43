/* Chunks whose payload starts at a multiple of more than 16. */
#ifndef RUNG_ARENA_ALIGN_H
#define RUNG_ARENA_ALIGN_H

#include "arena/arena.h"

/* A chunk in use of at least csz bytes, its payload aligned to `align` (a power of two, at least
   MIN_CHUNK).  It is cut out of a larger one; what is in front and behind becomes free again.
   NULL: no memory.  csz + align does not overflow.  Lock held. */
struct chunk *arena_alloc_aligned(struct arena *a, size_t align, size_t csz);

#endif
