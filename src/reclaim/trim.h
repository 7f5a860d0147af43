/* Giving back free memory on demand (row D7). */
#ifndef RUNG_RECLAIM_TRIM_H
#define RUNG_RECLAIM_TRIM_H

#include "arena/arena.h"

/* Takes away the whole pages inside a's free chunks, and the end of top but for `pad` bytes.  True if
   anything was released.  Lock held. */
bool trim_arena(struct arena *a, size_t pad);

/* All arenas, one after another. */
bool trim_everything(size_t pad);

#endif
