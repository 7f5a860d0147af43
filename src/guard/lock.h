/* Ranked locks that a fork or a signal handler can never make a thread wait for in vain.
 *
 * The word:
 *
 *     31        30       29 ............. 0
 *    +---------+--------+------------------+
 *    | WAITERS | FORK   | holder           |      0: free
 *    +---------+--------+------------------+
 *
 * holder  the thread that is inside, 0 when none is.  A thread that finds itself there is a signal
 *         handler that interrupted its own thread in the locked region.
 * FORK    a fork is under way and wants what this lock guards to hold still.  Nobody enters and
 *         nobody waits: lock_take() says no, and the caller does its work without the lock (an
 *         allocation gets a mapping of its own, a freed block goes to the arena's inbox).  A holder
 *         that was inside when the bit was set leaves normally; a child that is born before it has
 *         left finds the holder's mark and knows that the data is half-way between two states.
 * WAITERS somebody may sleep on the word.
 *
 * So lock_take() has three answers in time: at once, after a wait for another thread (which is in
 * a short region of this library and waits for nothing but a lock of a higher rank), or no.  Every
 * caller has a way to go on after a no.
 *
 * Processes without threads take no lock in the sense of an atomic operation: the word is written
 * with plain stores, which still tells a signal handler that it interrupted the region.  A thread
 * may start or end between take and release; both stores mean the same thing. */
#ifndef RUNG_GUARD_LOCK_H
#define RUNG_GUARD_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/self.h"

/* In order of acquisition: a thread that holds a lock takes only locks of a higher rank.  Two
   arenas are never locked at once (the fork handler takes them in list order, and does not wait
   for ever). */
enum lock_rank {
    RANK_START,  /* reading the options, once */
    RANK_RECORDS, /* which threads are known */
    RANK_ARENAS, /* the list of arenas, who is bound to which, which are parked */
    RANK_ARENA,  /* one arena: its bins, top, sub-heaps; the main arena's also covers the break */
    RANK_MAPPED, /* freed mappings that wait for reuse */
    RANK_BUDGET, /* how much free memory of arenas stays resident */
    RANK_CACHE,  /* how deep a CPU's cache is; nobody waits for it */
    RANK_DEPOT,  /* one size's bundles between threads */
    RANK_RUN_BIN, /* the runs of one size */
    RANK_SPACE,  /* where runs come from */
    RANK_META,   /* the allocator of the library's own structures; leaf */
};

struct lock {
    _Atomic uint32_t word;
    uint8_t rank;      /* enum lock_rank */
    uint64_t acquired; /* by a process with threads; guarded by the lock itself */
    uint64_t waited;
};

#define LOCK_INIT(r) {.rank = (r)}

#define LOCK_WAITERS ((uint32_t)1 << 31)
#define LOCK_FORK ((uint32_t)1 << 30)
#define LOCK_HOLDER (LOCK_FORK - 1)
/* The holder of a lock that stays shut in this process, with FORK for good: no thread's mark is even. */
#define LOCK_NOBODY ((uint32_t)2)

/* libc's word on whether there is, or has been, a second thread.  Weak: without it every lock is
   taken the atomic way. */
extern char __libc_single_threaded __attribute__((weak));

static HOT bool single_threaded(void) {
    return &__libc_single_threaded != NULL && __libc_single_threaded;
}

/* A mark for the calling thread, unlike that of any thread alive whose storage lies within 64 GiB.
   A clash makes one lock_take() say no without need, which every caller can take. */
static HOT uint32_t lock_self(void) {
    return (uint32_t)(((uintptr_t)&self >> 6) & LOCK_HOLDER) | 1;
}

/* For lock_take(), after lock_take_free() has said no. */
bool lock_take_contended(struct lock *l);
void lock_wake(struct lock *l);

#if RUNG_ASSERT > 0
void lock_check_rank(const struct lock *l);
void lock_note_taken(const struct lock *l);
void lock_note_released(const struct lock *l);
#else
static HOT void lock_check_rank(const struct lock *l) {
    (void)l;
}
static HOT void lock_note_taken(const struct lock *l) {
    (void)l;
}
static HOT void lock_note_released(const struct lock *l) {
    (void)l;
}
#endif

/* The first half of lock_take(): false when the lock is not free at this moment. */
static inline bool lock_take_free(struct lock *l) {
    lock_check_rank(l);
    if (single_threaded() && atomic_load_explicit(&l->word, memory_order_relaxed) == 0) {
        atomic_store_explicit(&l->word, lock_self(), memory_order_relaxed);
        atomic_signal_fence(memory_order_acquire);
    } else {
        uint32_t free_word = 0;
        if (UNLIKELY(!atomic_compare_exchange_strong_explicit(
                &l->word, &free_word, lock_self(), memory_order_acquire, memory_order_relaxed)))
            return false;
        l->acquired++;
    }
    lock_note_taken(l);
    return true;
}

/* False: not to be had, now or by waiting; the caller goes round (see above). */
static inline bool lock_take(struct lock *l) {
    return LIKELY(lock_take_free(l)) || lock_take_contended(l);
}

/* Like lock_take, but says no instead of waiting; in any order, since who does not wait cannot be
   part of a deadlock. */
static inline bool lock_try(struct lock *l) {
    uint32_t free_word = 0;
    if (!atomic_compare_exchange_strong_explicit(&l->word, &free_word, lock_self(),
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    if (!single_threaded())
        l->acquired++;
    lock_note_taken(l);
    return true;
}

static inline void lock_release(struct lock *l) {
    lock_note_released(l);
    if (single_threaded()) {
        atomic_signal_fence(memory_order_release);
        atomic_store_explicit(
            &l->word, atomic_load_explicit(&l->word, memory_order_relaxed) & LOCK_FORK,
            memory_order_relaxed);
    } else if (UNLIKELY(atomic_fetch_and_explicit(&l->word, LOCK_FORK, memory_order_release) &
                        LOCK_WAITERS)) {
        lock_wake(l);
    }
}

/* Whether anybody is inside, or a fork is under way, at this moment.  A hint: it may be over at once. */
static inline bool lock_looks_taken(const struct lock *l) {
    return atomic_load_explicit(&l->word, memory_order_relaxed) != 0;
}

/* At the top of every function that says "lock held". */
static inline bool lock_is_mine(const struct lock *l) {
    return (atomic_load_explicit(&l->word, memory_order_relaxed) & LOCK_HOLDER) == lock_self();
}

/* ---- for life/fork.c only ---- */

/* All three leave alone a lock that stays shut. */

/* Makes what l guards hold still: sets FORK and waits until nobody is inside, but no longer than
   until `deadline_us` on os_clock_us().  A region that the calling thread itself is in, below a
   signal handler, holds still by itself. */
void lock_fork_freeze(struct lock *l, uint64_t deadline_us);

/* In the parent, when no fork needs l any more. */
void lock_fork_thaw(struct lock *l);

/* In the child.  False: a thread that does not exist here was inside when the child was born; what
   l guards must not be used again, and the lock stays shut. */
bool lock_fork_child(struct lock *l);

#endif
