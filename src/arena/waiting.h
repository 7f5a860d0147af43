/* Row N1: when a thread waits so much for its arena that it should have another.
 *
 * Sharing is cheap as long as nobody waits, and every further arena keeps a peak of its own.  So what counts
 * is not that a thread exists, nor that it waited now and then, nor even a burst of waits, as when two threads
 * wake up at once: over a stretch of time it has waited often, and waiting was usual for all who used the
 * arena meanwhile.  Whenever it waits it also looks at one other arena's lock: one that was hardly ever taken
 * is quiet enough to move to. */
#ifndef RUNG_ARENA_WAITING_H
#define RUNG_ARENA_WAITING_H

#include "arena/arena.h"

enum {
    STRETCH_WAITS = 32,       /* the clock is asked once in so many waits */
    STRETCH_MIN_US = 10000,   /* a shorter stretch is a burst */
    STRETCH_MAX_US = 100000,  /* if it took that long, the waits cost less than an arena does */
    USUAL = 16,               /* waiting is usual when one acquisition in so many had to wait */
};

/* Whether waiting_note() will look at the time it is given. */
static inline bool waiting_wants_clock(const struct waiting *w) {
    return w->waits == 0 || (w->waits + 1) % STRETCH_WAITS == 0;
}

static inline void waiting_begin(struct waiting *w, const struct arena *a, uint64_t now_us) {
    w->began_us = now_us;
    w->acquired = a->lock.acquired;
    w->waited = a->lock.waited;
    w->threads = atomic_load_explicit(&a->threads, memory_order_relaxed);
    w->taken = 0;
}

/* Whether a stretch was bad enough.  When a thread has left the arena since it began, it says nothing about
   those who are still there; and who is alone in its arena is in the way of those who free what it allocated,
   and would be so in another. */
static inline bool waiting_was_bad(const struct waiting *w, const struct arena *a, uint64_t took_us) {
    uint64_t acquired = a->lock.acquired - w->acquired, waited = a->lock.waited - w->waited;
    unsigned threads = atomic_load_explicit(&a->threads, memory_order_relaxed);
    return took_us <= STRETCH_MAX_US && waited * USUAL >= acquired && threads > 1 &&
           threads >= w->threads;
}

/* The calling thread has just waited for the lock of a, its arena, and holds it.  `other_taken`: the lock that
   it watches was taken when it began to wait. */
static inline void waiting_note(struct waiting *w, const struct arena *a, bool other_taken,
                                uint64_t now_us) {
    if (w->waits == 0)
        waiting_begin(w, a, now_us);
    w->taken += other_taken;
    if (++w->waits % STRETCH_WAITS != 0 || now_us - w->began_us < STRETCH_MIN_US)
        return;
    w->enough = waiting_was_bad(w, a, now_us - w->began_us);
    w->quiet = w->watched != NULL && w->taken * USUAL < w->waits;
    w->waits = 0;
}

#endif
