/* Finding the lowest place for n pages in a row, without looking again at what was seen not to fit.
 *
 * For each length two pages are known: a stretch of free pages of that length or more begins at `from`, or
 * not before `next`; none begins below either.  A search looks at `from`, and goes on at `next`; what it passes
 * over in vain moves both up, for this length and all longer ones.  A stretch that becomes free below moves
 * `from` down to it, for the lengths that fit into it, and where the search was is the next one: when the new
 * one is taken, the search does not go over what lies between again.
 *
 *   length   1  2 .. 64 | 128  256 .. 8192 |  a slot of its own: 64 KiB at a multiple of 64 KiB
 *   class    0  1 .. 63 |  64   65 ..   70 |  71                                              */
#ifndef RUNG_RUNS_PLACE_H
#define RUNG_RUNS_PLACE_H

#include "base/bitmap.h"

enum {
    PLACE_EXACT = 64,
    PLACE_LENGTHS = PLACE_EXACT + 7,
    PLACE_SLOT = PLACE_LENGTHS,
    PLACE_CLASSES,
};

/* Of one map of pages. */
struct places {
    uint16_t from[PLACE_CLASSES];
    uint16_t next[PLACE_CLASSES];
};

/* The first place for n pages in `map`, which has `end`; end: there is none.  `slot`: n pages are a slot, and
   must be aligned like one.  align: of pages, for anything else that is aligned. */
size_t place_find(struct places *p, const uint64_t *map, size_t end, size_t n, size_t align, bool slot);

/* The pages [page, page + n) of `map` have just been cleared, if they were set.  What is left of a stretch behind
   them begins anew. */
void place_taken(struct places *p, const uint64_t *map, size_t end, size_t page, size_t n);

/* The pages [page, page + n) of `map` have just been set.  `slot`: the pages of a slot. */
void place_freed(struct places *p, const uint64_t *map, size_t end, size_t page, size_t n, size_t slot);

/* Whether the above is true of p. */
bool place_is_sound(const struct places *p, const uint64_t *map, size_t end, size_t slot);

#endif
