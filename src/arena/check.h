/* A walk over everything an arena consists of, for tests and for the debug build. */
#ifndef RUNG_ARENA_CHECK_H
#define RUNG_ARENA_CHECK_H

#include "arena/arena.h"

/* NULL when the arena is sound, otherwise what is wrong with it.  *where: the chunk at fault.
   Checks boundary tags and flags of every chunk, that no two free neighbours are unmerged, the order
   of the bins and their rings, the map, that binned and free chunks are the same set, top, the
   sub-heaps' chain, and the byte counts.  Lock held. */
const char *arena_check(struct arena *a, const void **where);

/* For assertions of level 3: the same for an arena that is small enough to be walked over at every
   turn.  Lock held. */
static inline bool arena_is_sound(struct arena *a) {
    const void *where;
    return a->system > 512 * KIB || arena_check(a, &where) == NULL;
}

#endif
