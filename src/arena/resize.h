/* A block in use gets another size without moving (row D8). */
#ifndef RUNG_ARENA_RESIZE_H
#define RUNG_ARENA_RESIZE_H

#include "arena/arena.h"

/* Shrinks c to csz bytes, or grows it into the free chunk or the top behind it.  What is left over
   and can be a chunk becomes free.  False: it does not fit there, and c is as it was.  Ends the
   process when c or its successor cannot be right.  Lock held. */
bool arena_resize(struct arena *a, struct chunk *c, size_t csz);

/* Cuts c, a chunk in use, down to csz bytes and frees the rest, if the rest can be a chunk.
   Lock held. */
void arena_cut(struct arena *a, struct chunk *c, size_t csz);

/* c could not be resized, and `behind` was allocated from the same arena in its place, with csz bytes or more.
   True: it lies right behind c and has become a part of it, of which csz bytes stay: nothing need be copied.
   Lock held. */
bool arena_append(struct arena *a, struct chunk *c, struct chunk *behind, size_t csz);

#endif
