// An arena's inbox (src/arena/inbox.c): pushed to without the lock, emptied whole by whoever holds it.
//
//   here                  there
//   inbox, next           struct arena's inbox, and the link in a posted block
//   post                  arena_post
//   empty_inbox           arena_empty_inbox
//   enter, leave          arena_enter, arena_leave; what lock_take answers, not how: lock.pml has that
//   thread                hand_back of its block, or, if it has none, arena_alloc of one that was freed
//   forker                freeze_all, the fork, thaw_all, catch_up
//   whole                 what a child finds in its copy of the inbox
//
// What must hold:
//   - a block is in one place at a time, with a thread, posted, or in the arena, and is freed where it was posted;
//   - the arena is touched by the lock's holder only;
//   - in the end, and in each child whose copy of the arena is whole, the inbox holds all that was posted, once;
//   - everybody comes to an end without a promise of fairness: a push fails only when another's has succeeded.
//
// What is assumed:
//   - Sequential consistency for the inbox and the links.  A push is a release and the exchange an acquire.  It sees
//     the links and the contents of all the blocks it takes, not of the last one only: the pushes are
//     read-modify-writes, so each continues the release sequences of those before.  A pusher's look at the head may
//     be relaxed, since it does not follow the pointer, and the exchange then compares.
//   - Nothing of the look that arena_enter and catch_up take before they empty: it is relaxed, and here it may miss
//     whatever is there.
//   - What lies in the arena is overwritten.
//
// run
// live
// mutant TAKES_IN_TWO_STEPS (assertion): the holder reads the head, then stores NULL
// mutant PUSHES_IN_TWO_STEPS (assertion): a pusher stores the head without comparing
// mutant LINKS_TOO_LATE (assertion): a pusher links its block after it has pushed it
// mutant READS_WHAT_IS_FREE (assertion): a link is read after its block is freed
// mutant LEAVES_EARLY (assertion): the holder empties the inbox after it has left
// mutant LOOKS_ONCE (cycle): a pusher whose exchange has failed tries the same again

#define THREADS 3
#define BLOCKS 3 /* one a thread, to begin with */
#define TURNS (_pid == 1 -> 3 : 2) /* the first thread's block may come back while others push */

#define NOTHING 0
#define JUNK 7 /* what the arena leaves where a link was */

/* Where a block is, if not with a thread, whose number is its process's. */
#define ARENA 5
#define POSTED 6

byte inbox;
byte next[BLOCKS + 1];

bool frozen;
byte holder;

/* Not in the source: what the properties speak of. */
byte place[BLOCKS + 1];
byte busy = THREADS + 1; /* who has not come to an end */

/* ---- the arena ---- */

inline leave() {
    holder = 0
}

inline arena_free(c, from) {
    atomic {
        assert(holder == _pid);
        assert(place[c] == from);
        place[c] = ARENA;
        next[c] = JUNK
    }
}

inline arena_alloc(c) {
    atomic {
        assert(holder == _pid);
        if
        :: place[1] == ARENA -> c = 1
        :: place[2] == ARENA -> c = 2
        :: place[3] == ARENA -> c = 3
        :: else
        fi;
        if
        :: c != NOTHING -> place[c] = _pid
        :: else
        fi
    }
}

/* ---- the inbox ---- */

inline post(c, first) {
    first = inbox;
    do
    ::
#ifndef LINKS_TOO_LATE
        next[c] = first;
#endif
        atomic {
            if
#ifdef PUSHES_IN_TWO_STEPS
            :: true ->
#else
            :: inbox == first ->
#endif
                inbox = c;
                place[c] = POSTED;
                break
#ifndef PUSHES_IN_TWO_STEPS
#ifdef LOOKS_ONCE
            :: else
#else
            :: else -> first = inbox
#endif
#endif
            fi
        }
    od;
#ifdef LINKS_TOO_LATE
    next[c] = first;
#endif
    first = NOTHING;
    c = NOTHING
}

inline empty_inbox(c, after) {
#ifdef TAKES_IN_TWO_STEPS
    c = inbox;
    inbox = NOTHING;
#else
    atomic {
        c = inbox;
        inbox = NOTHING
    };
#endif
    do
    :: c == NOTHING -> break
    :: else ->
        assert(c != JUNK);
#ifndef READS_WHAT_IS_FREE
        after = next[c];
#endif
        arena_free(c, POSTED);
#ifdef READS_WHAT_IS_FREE
        after = next[c];
#endif
        c = after
    od;
    after = NOTHING
}

inline empty_if_seen(c, after) {
    if
    :: empty_inbox(c, after)
    :: true
    fi
}

/* Refused while a fork is under way, and to a signal handler that interrupted the holder. */
inline enter(entered, c, after) {
    if
    :: atomic { !frozen && holder == 0 -> holder = _pid; entered = true };
#ifdef LEAVES_EARLY
       leave();
#endif
       empty_if_seen(c, after)
    :: frozen || holder != 0 -> entered = false
    fi
}

/* ---- fork ---- */

hidden byte at, missing;

/* The child has one thread, so all it does is one step for the others.  What another thread had in its hands is lost
   to it; nothing else is. */
inline whole() {
    d_step {
        missing = (place[1] == POSTED) + (place[2] == POSTED) + (place[3] == POSTED);
        at = inbox;
        do
        :: at == NOTHING -> break
        :: else ->
            assert(at != JUNK && place[at] == POSTED && missing > 0);
            missing--;
            at = next[at]
        od;
        assert(missing == 0)
    }
}

/* ---- who does it ---- */

proctype thread() {
    byte mine, c, after, turns;
    bool entered;
    mine = _pid;
    do
    :: turns == TURNS -> break
    :: turns != TURNS ->
        turns++;
        enter(entered, c, after);
        if
        :: entered && mine != NOTHING -> arena_free(mine, _pid); mine = NOTHING
        :: entered && mine == NOTHING -> arena_alloc(mine)
        :: !entered && mine != NOTHING -> post(mine, after)
        :: !entered && mine == NOTHING
        fi;
        if
        :: entered -> leave(); entered = false
        :: else
        fi
    od;
    busy--
}

proctype forker() {
    byte c, after;
    frozen = true;
    if
    :: holder == 0
    :: holder != 0 /* the time limit */
    fi;
    atomic {
        if
        :: holder == 0 -> whole()
        :: else /* the child abandons the arena */
        fi
    };
    frozen = false;
    if
    :: atomic { holder == 0 -> holder = _pid };
       empty_if_seen(c, after);
       leave()
    :: holder != 0
    fi;
    busy--
}

init {
    atomic {
        place[1] = 1;
        place[2] = 2;
        place[3] = 3;
        run thread();
        run thread();
        run thread();
        run forker()
    };
    busy == 0;
    assert(holder == 0);
    whole()
}

ltl ends { <> (busy == 0) }
