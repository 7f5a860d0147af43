/* Which whole pages of free memory may be resident.
 *
 * A free chunk that covers at least one whole page keeps a note behind its links:
 *
 *   c -> +-------+------+------+-------+---------------------------------------------+------+
 *        | foot  | head | link | sizes | note: link, from, to, freed_at, purged_at   | ...  |
 *        +-------+------+------+-------+---------------------------------------------+------+
 *                                                |<--------- whole pages ------------>|
 *                                                        |<-- may be resident -->|
 *                                                        from                    to
 *
 * Memory that was in use may be resident, all of it; pages that were given back are not, until they
 * are used again.  Of a chunk merged from several only one range is known, from the first page that
 * may be resident to the last.  Whether a chunk has a note follows from its address and size.
 *
 * The chunks with resident pages form a list in their arena, the one freed last first; a chunk that
 * comes of a merge or a split has the place of the oldest it comes of.  Top has no note: what of it may
 * be resident ends at arena.top_touched.
 *
 * All this is done only where something uses it (arena.purges, option arena_keep), under the arena's
 * lock. */
#ifndef RUNG_ARENA_PAGES_H
#define RUNG_ARENA_PAGES_H

#include "arena/arena.h"

struct page_note {
    struct link link; /* in arena.resident, while from < to */
    char *from, *to;  /* pages */
    uint64_t freed_at;
    uint64_t purged_at; /* when pages of the chunk were last given back for the budget's sake; 0: never */
};

/* What is known of memory on its way from one state to another. */
struct pages {
    char *from, *to; /* may be resident; any addresses */
    uint64_t freed_at, purged_at;
    struct link *place; /* behind which in the list; NULL: at its start */
};

/* Before the arena has any memory. */
void pages_init(struct arena *a);

/* What is known of a chunk in use of csz bytes: it was touched. */
static inline struct pages pages_in_use(const void *c, size_t csz) {
    return (struct pages){.from = (char *)c, .to = (char *)c + csz};
}

/* For arenas that keep notes; see the next three. */
void pages_absorb_noted(struct arena *a, struct chunk *c, size_t csz, struct pages *p);
struct pages pages_use_noted(struct arena *a, struct chunk *c, size_t csz, size_t used);
void pages_free_noted(struct arena *a, struct chunk *c, size_t csz, const struct pages *p);

/* c, a free chunk of csz bytes, becomes part of what p tells of, its neighbour. */
static inline void pages_absorb(struct arena *a, struct chunk *c, size_t csz, struct pages *p) {
    if (a->purges)
        pages_absorb_noted(a, c, csz, p);
}

/* c, a free chunk of csz bytes, or its first `used` bytes, will be in use; what is known of the rest. */
static inline struct pages pages_use(struct arena *a, struct chunk *c, size_t csz, size_t used) {
    return a->purges ? pages_use_noted(a, c, csz, used) : pages_in_use(c, csz);
}

/* c has become a free chunk of csz bytes, with links. */
static inline void pages_free(struct arena *a, struct chunk *c, size_t csz, const struct pages *p) {
    if (a->purges)
        pages_free_noted(a, c, csz, p);
}

/* The coldest chunk with resident pages; NULL: none. */
struct page_note *pages_coldest(struct arena *a);

/* The note's pages are not resident any more. */
void pages_gone(struct arena *a, struct page_note *n, uint64_t purged_at);

/* NULL: it covers no whole page. */
struct page_note *pages_note(const struct chunk *c, size_t csz);

/* The bytes of whole pages that c covers behind its note. */
size_t pages_covered(const struct chunk *c, size_t csz);

/* What of top may be resident, in whole pages. */
static HOT size_t top_resident(const struct arena *a) {
    return a->top_touched > (char *)a->top ? (size_t)(a->top_touched - (char *)a->top) : 0;
}

/* Top reaches to `end` in memory that may be resident. */
static HOT void top_touch(struct arena *a, char *end) {
    if (a->top_touched < end)
        a->top_touched = end;
}

#endif
