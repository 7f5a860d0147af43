// The lock that can say no (src/guard/lock.h, src/guard/lock.c), and what a fork does to it (src/life/fork.c).
//
//   here                  there
//   word                  struct lock's word: HOLDER is a thread's mark, FORK, WAITERS
//   take                  lock_take without its plain stores, then lock_take_contended
//   try                   lock_try
//   release               lock_release, lock_wake
//   sleep, wake_*         os_wait, os_wake: the futex
//   freeze, thaw          lock_fork_freeze, lock_fork_thaw
//   born                  lock_fork_child, and what the child does with the lock
//   fork                  prepare, the fork, parent, catch_up, with the gate and the count of forks
//   thread                whoever takes and releases
//   forker                a thread that forks
//   handler               a signal handler on the first thread, at any moment of it: it takes, or forks
//
// What must hold:
//   - one at a time is inside, a handler counted with its thread; a holder's handler is refused, others only while
//     a fork is under way;
//   - from a freeze that found nobody inside until the thaw nobody enters;
//   - a child enters only what is whole, and waits for nobody;
//   - everybody comes to an end: no wake-up is lost, nobody waits for himself, no two wait for each other.
//
// What is assumed:
//   - Sequential consistency.  The protocol has one word, and for one location coherence gives that, whatever the
//     orderings.  Between the word and the queue of sleepers the kernel has barriers: a waiter is in the queue before
//     the word is compared, and a waker's store comes before its look at the queue.  For what the lock guards,
//     entering is an acquire, leaving a release, and the freezer's looks are acquires.
//   - The kernel wakes whom it likes.
//
// What is left out: the spins before a sleep and a weak exchange that fails without cause (both look again, which is
// the same as having looked later); a process without threads (its stores are plain; what a handler does between
// them is over before the next, and leaves the word as it was).
//
// run THREADS=3
// run HANDLER THREADS=2 NOREDUCE
// fair THREADS=2
// unreached asleep[1] = 0: a handler's wake-up for its own thread, which is awake
// unreached napping = 0: a freezer's wake-up for itself
// mutant WAKES_FIRST (deadlock) THREADS=2: the wake-up comes before the word is stored
// mutant TAKES_WITHOUT_MARK (deadlock) THREADS=3: who has slept does not keep the mark for others who may sleep
// mutant KEEPS_THE_WAKE_UP (deadlock) THREADS=3: who is refused after a sleep does not pass the wake-up on
// mutant SLEEPS_UNSEEN (deadlock) THREADS=2: the kernel does not compare the word
// mutant WAITS_FOR_ITSELF (deadlock) HANDLER THREADS=2 NOREDUCE: the holder's handler is not refused
// mutant LOOKS_THEN_STORES (assertion) THREADS=2: the lock is taken in two steps
// mutant ENDS_THE_FREEZE (assertion) THREADS=2: a release drops FORK
// mutant NAPS_THROUGH_A_WAKE_UP (deadlock) THREADS=3: a freezer that is woken instead of a waiter does not pass it on
// mutant THAWS_WHAT_IS_SHUT (assertion) THREADS=2: a child's fork opens what it must not enter, held by nobody
// mutant LOOKS_ONCE (cycle) THREADS=2: who waits does not read the word again

#define FORKER (THREADS + 1) /* its mark, and its process; the threads' are 1 to THREADS */

#define HOLDER 7
#define NOBODY 6
#define FORK 8
#define WAITERS 16

byte word;
bool asleep[THREADS + 1]; /* in lock_take_contended */
bool napping;             /* the one who freezes */

bit gate;
byte forks;

/* Not in the source: what the properties speak of. */
byte inside;      /* how many, a handler's thread included */
bool frozen;      /* by a freeze that found nobody inside */
#ifdef HANDLER
byte busy = THREADS + 2; /* who has not come to an end */
#else
byte busy = THREADS + 1;
#endif
bool interrupted; /* the first thread stands still, a handler runs on it */

/* ---- the futex ---- */

#if THREADS == 3
#define THREAD_ASLEEP (asleep[1] || asleep[2] || asleep[3])
#else
#define THREAD_ASLEEP (asleep[1] || asleep[2])
#endif

#ifdef SLEEPS_UNSEEN
#define MAY_SLEEP(expected) true
#else
#define MAY_SLEEP(expected) (word == (expected))
#endif

inline sleep(sleeps, expected) {
    atomic {
        if
        :: MAY_SLEEP(expected) -> sleeps = true
        :: else
        fi
    }
}

inline wake_one() {
    atomic {
        if
        :: asleep[1] -> asleep[1] = false
        :: asleep[2] -> asleep[2] = false
#if THREADS == 3
        :: asleep[3] -> asleep[3] = false
#endif
        :: napping -> napping = false
        :: !THREAD_ASLEEP && !napping
        fi
    }
}

inline wake_all() {
    d_step {
        asleep[1] = false;
        asleep[2] = false;
#if THREADS == 3
        asleep[3] = false;
#endif
        napping = false
    }
}

/* ---- the lock ---- */

inline compare_exchange(expected, desired, done) {
    atomic {
        if
        :: word == (expected) -> word = desired; done = true
        :: else -> done = false
        fi
    }
}

#ifdef WAITS_FOR_ITSELF
#define REFUSED(me, seen) ((seen & FORK) != 0)
#else
#define REFUSED(me, seen) ((seen & FORK) != 0 || (seen & HOLDER) == me)
#endif

#ifdef TAKES_WITHOUT_MARK
#define TAKEN(me, slept) me
#else
#define TAKEN(me, slept) (slept -> me | WAITERS : me)
#endif

/* Locals that are of no use any more are 0, so that states do not differ in them. */
inline take(me, got, seen, slept) {
#ifdef LOOKS_THEN_STORES
    got = word == 0;
    if
    :: got -> word = me
    :: else
    fi;
#else
    compare_exchange(0, me, got);
#endif
    do
    :: got -> break
    :: else ->
#ifdef LOOKS_ONCE
        if
        :: seen == 0 -> seen = word
        :: else
        fi;
#else
        seen = word;
#endif
        if
        :: REFUSED(me, seen) ->
#ifdef HANDLER
            assert((seen & FORK) != 0 || interrupted);
#else
            assert((seen & FORK) != 0);
#endif
#ifndef KEEPS_THE_WAKE_UP
            if
            :: slept -> wake_all()
            :: else
            fi;
#endif
            break
        :: !REFUSED(me, seen) && seen == 0 ->
            seen = TAKEN(me, slept);
            compare_exchange(0, seen, got)
        :: !REFUSED(me, seen) && seen != 0 ->
            atomic {
                if
                :: (seen & WAITERS) == 0 && word == seen -> word = seen | WAITERS; seen = word
                :: else
                fi
            };
            if
            :: (seen & WAITERS) != 0 ->
                sleep(asleep[me], seen);
                !asleep[me];
                slept = true
            :: else /* the word has changed meanwhile */
            fi
        fi
    od;
    seen = 0;
    slept = false
}

inline release(seen) {
#ifdef WAKES_FIRST
    seen = word;
    if
    :: (seen & WAITERS) != 0 -> wake_one()
    :: else
    fi;
    seen = 0;
    word = word & FORK
#else
    atomic {
        seen = word;
#ifdef ENDS_THE_FREEZE
        word = 0
#else
        word = word & FORK
#endif
    };
    if
    :: (seen & WAITERS) != 0 -> wake_one()
    :: else
    fi;
    seen = 0
#endif
}

/* What the lock guards. */
inline region(me) {
    atomic {
        assert(!frozen && inside == 0);
        inside++
    };
    atomic {
        assert((word & HOLDER) == me && inside == 1);
        inside--
    }
}

/* ---- fork ---- */

#define OTHERS_INSIDE(me, seen) ((seen & HOLDER) != 0 && (seen & HOLDER) != me)

inline freeze(me, seen) {
    atomic {
        seen = word;
        word = word | FORK
    };
    if
    :: (seen & WAITERS) != 0 -> wake_all()
    :: else
    fi;
    seen = seen | FORK;
    do
    :: !OTHERS_INSIDE(me, seen) -> frozen = (seen & HOLDER) == 0; break
    :: OTHERS_INSIDE(me, seen) -> break /* the time limit */
    :: OTHERS_INSIDE(me, seen) ->
        sleep(napping, seen);
        napping = false; /* woken, or after a while */
#ifndef NAPS_THROUGH_A_WAKE_UP
        wake_one();
#endif
        seen = word
    od;
    seen = 0
}

inline thaw() {
    atomic {
        frozen = false;
        word = word & ~FORK
    }
}

/* The child has one thread, so all it does is one step for the others.  `below`: that thread was inside itself. */
inline born(me, below, copy) {
    d_step {
        assert(!frozen || inside == 0);
        copy = word & HOLDER;
        if
        :: copy != 0 && copy != me -> copy = NOBODY | FORK
        :: else
        fi;
        assert(!below || copy == me);
        assert(copy != 0 || inside == 0);                      /* it enters what is whole */
        assert(copy == 0 || copy == me || (copy & FORK) != 0); /* it waits for nobody */
        if /* nor when it has forked */
#ifndef THAWS_WHAT_IS_SHUT
        :: copy == (NOBODY | FORK)
#endif
        :: else -> copy = copy & ~FORK
        fi;
        assert(copy == 0 || copy == me || (copy & FORK) != 0);
        copy = 0
    }
}

inline enter_gate() {
    atomic { gate == 0 -> gate = 1 }
}

inline fork(me, below, got, seen) {
    enter_gate();
    forks++;
    if
    :: forks == 1 -> freeze(me, seen)
    :: else
    fi;
    gate = 0;
    born(me, below, seen);
    enter_gate();
    forks--;
    got = forks == 0; /* the last of them */
    if
    :: got -> thaw()
    :: else
    fi;
    gate = 0;
    if
    :: got ->
        compare_exchange(0, me, got); /* lock_try */
        if
        :: got -> region(me); release(seen); got = false
        :: else
        fi
    :: else
    fi
}

/* ---- who does it ---- */

#ifdef HANDLER
#define NOT_BELOW_THE_HANDLER provided (!(interrupted && _pid == 1))
#else
#define NOT_BELOW_THE_HANDLER
#endif

inline go_in_once(me, got, seen, slept) {
    take(me, got, seen, slept);
    if
    :: got -> region(me); release(seen); got = false
    :: else
    fi
}

proctype thread() NOT_BELOW_THE_HANDLER {
    byte seen;
    bool got, slept;
    go_in_once(_pid, got, seen, slept);
#ifndef HANDLER
    if
    :: _pid == 1 -> go_in_once(_pid, got, seen, slept) /* who comes again need not have slept */
    :: else
    fi;
#endif
    busy--
}

proctype forker() {
    byte seen;
    bool got;
    fork(FORKER, false, got, seen);
    busy--
}

#ifdef HANDLER
/* A signal ends its thread's sleep; the thread looks again after the handler. */
proctype handler() {
    byte seen;
    bool got, slept, below;
    atomic {
        interrupted = true;
        asleep[1] = false;
        below = (word & HOLDER) == 1
    };
    if
    :: take(1, got, seen, slept);
       assert(!(below && got));
       if
       :: got -> region(1); release(seen); got = false
       :: else
       fi
    :: fork(1, below, got, seen)
    fi;
    atomic {
        interrupted = false;
        busy--
    }
}
#endif

init {
    atomic {
        run thread();
        run thread();
#if THREADS == 3
        run thread();
#endif
        run forker();
#ifdef HANDLER
        run handler();
#endif
    };
    busy == 0;
    assert(word == 0 && inside == 0 && gate == 0 && forks == 0)
}

ltl ends { <> (busy == 0) }
