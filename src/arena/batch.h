/* Chunks of one size on their way from an arena to a cache, so that neither knows the other: the
   cache says how many it has room for, the arena adds what it comes by while it holds its lock. */
#ifndef RUNG_ARENA_BATCH_H
#define RUNG_ARENA_BATCH_H

#include "chunk/chunk.h"

struct batch {
    unsigned room;      /* how many more are welcome */
    struct chunk *last; /* the newest; its link.next leads to the one before, NULL at the first */
};

static HOT void batch_add(struct batch *b, struct chunk *c) {
    c->link.next = b->last != NULL ? &b->last->link : NULL;
    b->last = c;
    b->room--;
}

/* The newest; NULL when there is none. */
static HOT struct chunk *batch_take(struct batch *b) {
    struct chunk *c = b->last;
    if (c == NULL)
        return NULL;
    b->last = c->link.next != NULL ? chunk_of_link(c->link.next) : NULL;
    b->room++;
    return c;
}

#endif
