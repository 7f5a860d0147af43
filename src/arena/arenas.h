/* All arenas, and which thread works with which (rows C1-C5, N1). */
#ifndef RUNG_ARENA_ARENAS_H
#define RUNG_ARENA_ARENAS_H

#include "arena/arena.h"
#include "arena/heap.h"
#include "arena/top.h"

/* The lock of the list: bindings, parking, creation.  Rank ARENAS. */
extern struct lock arenas_lock;

/* Makes the main arena usable and binds the calling thread, the process's first, to it.  Called once,
   at start-up. */
void arenas_init(void);

/* The calling thread's arena, entered.  The first call binds the thread: to a parked arena, to a new
   one below the cap, to the first idle one in rotation, or to the next in rotation after a wait.  On
   demand (row N1) it is a parked arena, or the one that the fewest share, and a thread that has waited for
   its arena too often gets another.  NULL: no lock of an arena is to be had; the caller goes without. */
static inline struct arena *arena_enter_own(void);
struct arena *arena_bind_and_enter(void);
struct arena *arena_enter_contended(struct arena *a);

/* After a failure in `failed`, which is entered and will be left: another arena, entered, or NULL.
   Row C5: the limits on the break, on a window and on mappings are not the same. */
struct arena *arena_enter_other(struct arena *failed);

/* The calling thread is gone: the last one out parks its arena whole (row C4). */
void arena_unbind(void);

/* The arena that c, a chunk that is not mapped, lies in.  NULL: c's flag names a window that is not
   ours. */
static inline struct arena *arena_of_chunk(const struct chunk *c);

/* The next in the ring that starts and ends with &main_arena. */
static inline struct arena *arena_next(const struct arena *a) {
    return atomic_load_explicit(&a->next, memory_order_acquire);
}

static inline struct arena *arena_enter_own(void) {
    struct arena *a = self.arena;
    if (UNLIKELY(a == NULL))
        return arena_bind_and_enter();
    if (UNLIKELY(!lock_take_free(&a->lock)))
        return arena_enter_contended(a);
    if (UNLIKELY(atomic_load_explicit(&a->inbox, memory_order_relaxed) != NULL))
        arena_empty_inbox(a);
    return a;
}

static inline struct arena *arena_of_chunk(const struct chunk *c) {
    if (!is_secondary(c))
        return &main_arena;
    return heap_known(c) ? heap_of(c)->arena : NULL;
}

/* Whether c, which carries no M flag, can lie in an arena at all, as far as its address tells. */
static inline bool arena_may_hold(const struct chunk *c) {
    return is_secondary(c) ? heap_known(c) : main_may_hold(c);
}

/* ---- for life/fork.c ---- */

/* In the parent and in the child after a fork: parks the arenas that threads left while the list's
   lock was not to be had.  Lock of the list held. */
void arenas_park_left(void);

/* In the child: only the calling thread exists.  Its arena stays bound, the others are parked, in
   ring order.  Lock of the list held. */
void arenas_forget_threads(void);

#endif
