/* Sub-heaps: the windows of address space in which a secondary arena lives (row C3).
 *
 *   64 MiB boundary                                                     next 64 MiB boundary
 *   |                                                                   |
 *   +------+--------+-----------------------------+---------+-----------+
 *   | heap | lead   | chunks ...  (the last: top) | commit- | reserved, |
 *   |      | (first |                             | ted,    | PROT_NONE |
 *   |      |  only) |                             | unused  |           |
 *   +------+--------+-----------------------------+---------+-----------+
 *   |<------------------- size ------------------>|         |
 *   |<------------------ committed ------------------------>|
 *
 * One mask leads from any chunk to its window's head, and from there to the arena.
 *
 * An arena's windows form a chain from the newest, which holds top, to the first.  An older window
 * ends with two fenceposts, 16-byte chunks that are for ever in use, so that no merge runs out of
 * it:
 *
 *   ... | last real chunk | 16 |P| | 16 |P|
 */
#ifndef RUNG_ARENA_HEAP_H
#define RUNG_ARENA_HEAP_H

#include "arena/arena.h"
#include "chunk/window.h"

#define HEAP_MAX WINDOW
#define HEAP_MIN (32 * KIB)

struct heap {
    struct arena *arena;
    struct heap *prev;
    size_t size;
    size_t committed;
    size_t lead; /* bytes between this head and the first chunk */
    size_t unused;
};

#define FENCEPOST ((size_t)16)

/* In front of the first chunk of an arena's first window the documents' system keeps the arena's
   own record, 2112 bytes.  Rung's lies elsewhere (chunk/meta.h), but the room stays: what
   malloc_info reports of an arena (266240 bytes of system, 912 free behind 64 x 4096) is compared
   to the byte by tools and tests. */
#define FIRST_HEAP_LEAD ((size_t)2112)

static HOT struct heap *heap_of(const void *p) {
    return window_of(p);
}

static HOT struct chunk *heap_first_chunk(struct heap *h) {
    return chunk_at(h, sizeof *h + h->lead);
}

/* Whether p lies in a sub-heap: asked of pointers that come from outside, before the mask is
   trusted. */
static HOT bool heap_known(const void *p) {
    return window_use_of(p) == WINDOW_HEAP;
}

/* A window for `a` with at least `need` usable bytes behind its head and lead, and up to `pad` more
   if it fits.  NULL: need is more than a window holds, or the kernel has no more.  Does not touch
   the arena. */
struct heap *heap_create(struct arena *a, size_t lead, size_t need, size_t pad);

/* Makes `more` further bytes (rounded up to pages) part of the window; false: no room, or refused. */
bool heap_grow(struct heap *h, size_t more);

/* Gives `less` bytes (whole pages) at the end back to the kernel.  `*zero`: they will read as zeros
   when they come back. */
bool heap_shrink(struct heap *h, size_t less, bool *zero);

/* Returns the window to the kernel; false: it stays, unchanged. */
bool heap_destroy(struct heap *h);

#endif
