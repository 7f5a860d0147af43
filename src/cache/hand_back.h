/* A block goes home: to the arena it came from, whichever thread frees it. */
#ifndef RUNG_CACHE_HAND_BACK_H
#define RUNG_CACHE_HAND_BACK_H

#include "chunk/chunk.h"

/* Frees c, a chunk in use: unmaps it, or joins it to its arena's free memory, or, when the arena's
   lock is not to be had, leaves it in the arena's inbox.  Ends the process when c cannot be right. */
void hand_back(struct chunk *c);

#endif
