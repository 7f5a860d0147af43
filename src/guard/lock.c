#include "guard/lock.h"

#include "base/counter.h"
#include "guard/assert.h"
#include "os/os.h"

/* How often a waiter looks again before it sleeps.  The regions are short (a few hundred
   nanoseconds unless they make a system call), a sleep and a wake-up cost several microseconds. */
enum { SPINS = 100 };

static HOT void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield" ::: "memory");
#endif
}

SLOW bool lock_take_contended(struct lock *l) {
    const uint32_t me = lock_self();
    bool slept = false;
    for (unsigned spins = 0;; spins++) {
        uint32_t word = atomic_load_explicit(&l->word, memory_order_relaxed);
        if ((word & LOCK_FORK) != 0 || (word & LOCK_HOLDER) == me) {
            counter_add(COUNT_SERVED_AROUND, 1);
            /* The release that woke us has also taken the mark of the others who sleep, and the freeze
               that came in between did not see it: pass the wake-up on. */
            if (slept)
                os_wake(&l->word, INT32_MAX);
            return false;
        }
        if (word == 0) {
            /* Others may still sleep after this one has woken: keep the mark for them. */
            uint32_t taken = slept ? me | LOCK_WAITERS : me;
            if (atomic_compare_exchange_weak_explicit(&l->word, &word, taken, memory_order_acquire,
                                                      memory_order_relaxed))
                break;
            continue;
        }
        if (spins < SPINS && os_facts.cpus > 1) {
            pause_briefly();
            continue;
        }
        if ((word & LOCK_WAITERS) == 0 &&
            !atomic_compare_exchange_weak_explicit(&l->word, &word, word | LOCK_WAITERS,
                                                   memory_order_relaxed, memory_order_relaxed))
            continue;
        os_wait(&l->word, word | LOCK_WAITERS, -1);
        slept = true;
    }
    l->acquired++;
    l->waited++;
    lock_note_taken(l);
    return true;
}

COLD void lock_wake(struct lock *l) {
    os_wake(&l->word, 1);
}

#if RUNG_ASSERT > 0
void lock_check_rank(const struct lock *l) {
    /* A handler that interrupted a region may ask for the lock it interrupted, and is refused;
       what it must not do is wait for a lock of a lower rank. */
    if (!lock_is_mine(l) && (self.held >> l->rank) != 0)
        die_internal("lock rank order", __FILE__, __LINE__);
}

void lock_note_taken(const struct lock *l) {
    self.held |= (uint32_t)1 << l->rank;
}

void lock_note_released(const struct lock *l) {
    assert_argument(lock_is_mine(l));
    self.held &= ~((uint32_t)1 << l->rank);
}
#endif

void lock_fork_freeze(struct lock *l, uint64_t deadline_us) {
    uint32_t word = atomic_fetch_or_explicit(&l->word, LOCK_FORK, memory_order_acquire);
    if ((word & LOCK_WAITERS) != 0) /* they must not sleep through the fork: they go round */
        os_wake(&l->word, INT32_MAX);
    word |= LOCK_FORK;
    if ((word & LOCK_HOLDER) == LOCK_NOBODY)
        return;
    while ((word & LOCK_HOLDER) != 0 && (word & LOCK_HOLDER) != lock_self() &&
           os_clock_us() < deadline_us) {
        /* The holder wakes nobody once FORK is set and WAITERS is not: look again now and then. */
        os_wait(&l->word, word, 50);
        /* Whoever left before FORK was set may be waking a waiter only now; if it was us, pass it on. */
        os_wake(&l->word, 1);
        word = atomic_load_explicit(&l->word, memory_order_acquire);
    }
}

void lock_fork_thaw(struct lock *l) {
    uint32_t word = atomic_load_explicit(&l->word, memory_order_relaxed);
    if ((word & LOCK_HOLDER) != LOCK_NOBODY)
        atomic_fetch_and_explicit(&l->word, ~LOCK_FORK, memory_order_release);
}

bool lock_fork_child(struct lock *l) {
    uint32_t holder = atomic_load_explicit(&l->word, memory_order_relaxed) & LOCK_HOLDER;
    if (holder != 0 && holder != lock_self()) {
        atomic_store_explicit(&l->word, LOCK_FORK | LOCK_NOBODY, memory_order_relaxed);
        return false;
    }
    atomic_store_explicit(&l->word, holder, memory_order_release);
    return true;
}
