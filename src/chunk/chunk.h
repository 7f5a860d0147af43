/* The chunk: how memory looks between the allocator's hands and the user's.
 *
 *        in use                                  free, in a bin
 *
 *   c -> +----------------------------+     c -> +----------------------------+
 *        | lent to the chunk before   |          | foot of the chunk before,  |
 *        | (or its foot, if P is 0)   |          | always lent: it is in use  |
 *        +----------------------+-----+          +----------------------+-----+
 *        | size                 |A|M|P|          | size                 |0|0|1|
 * mem -> +----------------------------+          +----------------------------+
 *        | payload                    |          | link.next                  |
 *        |                            |          | link.prev                  |
 *        |                            |          | sizes.next  (large bins    |
 *        |                            |          | sizes.prev   only)         |
 *        |                            |          | nothing                    |
 * next-> +----------------------------+   next-> +----------------------------+
 *        | last word of the payload   |          | foot: the same size again  |
 *        +----------------------+-----+          +----------------------+-----+
 *        | size of the next   |A|M|1  |          | size of the next   |A|M|0  |
 *
 * P (PREV_INUSE)  the chunk before this one is in use, and this one's first word belongs to it.
 * M (IS_MAPPED)   the chunk is a mapping of its own (arena/mapped.h) and has no neighbours.
 * A (SECONDARY)   the chunk lies in a sub-heap of a secondary arena.
 *
 * Two free chunks never lie side by side: free merges at once.  So the chunk before a free chunk
 * is in use, and a free chunk's P is always 1.
 *
 * The size word of a block in use is read without a lock by its owner (free, usable size), while
 * another thread that frees or takes the chunk before it may change P under the arena's lock: all
 * accesses are relaxed atomics, which cost nothing. */
#ifndef RUNG_CHUNK_CHUNK_H
#define RUNG_CHUNK_CHUNK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "chunk/size.h"

#define PREV_INUSE ((size_t)1)
#define IS_MAPPED ((size_t)2)
#define SECONDARY ((size_t)4)
#define FLAGS (PREV_INUSE | IS_MAPPED | SECONDARY)

struct chunk {
    size_t foot; /* the size of the chunk before, while that is free; otherwise its payload */
    size_t head; /* size | flags */
    struct link link;  /* free: in its bin's list */
    struct link sizes; /* free, in a large bin, first of its size: in the bin's list of sizes;
                          next is NULL for the others */
};

static HOT struct chunk *chunk_of_mem(const void *mem) {
    return (struct chunk *)((char *)mem - HEADER);
}

static HOT void *mem_of_chunk(const struct chunk *c) {
    return (char *)c + HEADER;
}

static HOT struct chunk *chunk_at(const void *c, size_t offset) {
    return (struct chunk *)((char *)c + offset);
}

static HOT size_t chunk_head(const struct chunk *c) {
    return __atomic_load_n(&c->head, __ATOMIC_RELAXED);
}

static HOT void chunk_set_head(struct chunk *c, size_t head) {
    __atomic_store_n(&c->head, head, __ATOMIC_RELAXED);
}

static HOT size_t chunk_size(const struct chunk *c) {
    return chunk_head(c) & ~FLAGS;
}

static HOT struct chunk *chunk_next(const struct chunk *c) {
    return chunk_at(c, chunk_size(c));
}

static HOT bool prev_inuse(const struct chunk *c) {
    return (chunk_head(c) & PREV_INUSE) != 0;
}

static HOT bool is_mapped(const struct chunk *c) {
    return (chunk_head(c) & IS_MAPPED) != 0;
}

static HOT bool is_secondary(const struct chunk *c) {
    return (chunk_head(c) & SECONDARY) != 0;
}

static HOT void set_prev_inuse(struct chunk *c) {
    chunk_set_head(c, chunk_head(c) | PREV_INUSE);
}

static HOT void clear_prev_inuse(struct chunk *c) {
    chunk_set_head(c, chunk_head(c) & ~PREV_INUSE);
}

/* Whether c is in use is written in its successor. */
static HOT bool chunk_inuse(const struct chunk *c) {
    return prev_inuse(chunk_next(c));
}

/* The successor's first word, which is this free chunk's boundary tag. */
static HOT void set_foot(struct chunk *c, size_t csz) {
    __atomic_store_n(&chunk_at(c, csz)->foot, csz, __ATOMIC_RELAXED);
}

static HOT size_t foot_of_prev(const struct chunk *c) {
    return __atomic_load_n(&c->foot, __ATOMIC_RELAXED);
}

static HOT struct chunk *chunk_of_link(const struct link *l) {
    return (struct chunk *)((char *)l - offsetof(struct chunk, link));
}

static HOT struct chunk *chunk_of_sizes(const struct link *l) {
    return (struct chunk *)((char *)l - offsetof(struct chunk, sizes));
}

_Static_assert(offsetof(struct chunk, link) == HEADER, "the payload starts where the links do");
_Static_assert(offsetof(struct chunk, sizes) == MIN_CHUNK, "the smallest chunks hold no sizes link");

#endif
