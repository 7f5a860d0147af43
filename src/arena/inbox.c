/* The way into an arena for those who cannot wait for its lock: a stack of blocks, pushed without a
   lock and taken whole by whoever holds it.  Taking the whole stack at once is what makes the
   push safe (no node can leave and come back between a pusher's look and its exchange). */
#include "arena/arena.h"
#include "arena/release.h"
#include "guard/assert.h"

void arena_post(struct arena *a, struct chunk *c) {
    struct link *l = &c->link;
    struct chunk *first = atomic_load_explicit(&a->inbox, memory_order_relaxed);
    do {
        l->next = first != NULL ? &first->link : NULL;
    } while (!atomic_compare_exchange_weak_explicit(&a->inbox, &first, c, memory_order_release,
                                                    memory_order_relaxed));
}

SLOW void arena_empty_inbox(struct arena *a) {
    assert_argument(lock_is_mine(&a->lock));
    struct chunk *c = atomic_exchange_explicit(&a->inbox, NULL, memory_order_acquire);
    while (c != NULL) {
        struct link *next = c->link.next;
        arena_free(a, c, chunk_size(c));
        c = next != NULL ? chunk_of_link(next) : NULL;
    }
}
