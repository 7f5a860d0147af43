// The depot (src/cache/depot.c): a shelf under a lock whose count is looked at without it, and a list of strays
// without a lock.
//
//   here                  there
//   shelf, count, wanted  one size's struct shelf
//   strays, next          the list of what nobody could take, and the link in such an object
//   take                  depot_take
//   leave                 depot_leave
//   go_home, stray        send_home, and how it adds to the strays
//   gather                gather_strays
//   enter, unlock         lock_take and lock_release as far as they answer: lock.pml has the rest
//   thread                gives away what it has, or comes for an object, if need be to the runs
//   child                 what a child finds in its copy
//
// What must hold:
//   - an object is in one place at a time: with a thread, on the shelf, a stray, or at home in its run;
//   - the shelf is touched by the lock's holder only, and never read or written past its ends;
//   - in the end, and in each child, the list of strays holds all that went astray, once, and ends; the same for the
//     shelf, unless somebody is inside: then it stays shut in the child;
//   - everybody comes to an end without a promise of fairness.
//
// What is assumed:
//   - Sequential consistency for the shelf, the strays and the links.  The shelf is written and read between an
//     acquire and a release of its lock.  A stray is added with a release and the strays are taken with an acquire;
//     since all additions are read-modify-writes of one word, that shows the taker all of them.
//   - Nothing of what is seen without the lock, which may be old: a look at the count or at the strays may say "none"
//     whenever it likes, and who believes to have seen something looks again inside.  The number wanted is a guess, and
//     two who change it at once may lose one change.
//   - A lock may say no whenever it likes, the runs' as well.
//
// Objects move one at a time here, and by the dozen there: within one stay under the lock, or one after the other
// onto the strays.
//
// run THREADS=3 TURNS=2
// live THREADS=2 TURNS=3
// mutant TAKES_IN_TWO_STEPS (assertion) THREADS=3 TURNS=2: who gathers reads the strays' head, then stores NULL
// mutant ADDS_IN_TWO_STEPS (assertion) THREADS=3 TURNS=2: a stray's head is stored without comparing
// mutant FOLLOWS_WHAT_WENT (assertion) THREADS=3 TURNS=2: a stray's link is read after it has gone home
// mutant BELIEVES_ITS_LOOK (assertion) THREADS=3 TURNS=2: the count seen without the lock is not read again inside
// mutant ENTERS_WHEN_REFUSED (assertion) THREADS=3 TURNS=2: who is refused uses the shelf all the same
// mutant LOOKS_ONCE (cycle) THREADS=2 TURNS=3: who adds a stray and fails tries the same again

#define OBJECTS 3 /* one a thread, to begin with; one more is at home if there are two threads */
#define SHELF 2

#define NOTHING 0
#define JUNK 7 /* in a run, what was the link is a user's */

/* Where an object is, if not with a thread, whose number is its process's. */
#define HOME 10
#define SHELVED 11
#define ASTRAY 12

byte shelf[SHELF];
byte count;
byte wanted = 1;
byte holder;

byte strays;
byte next[OBJECTS + 1];

/* Not in the source: what the properties speak of. */
byte place[OBJECTS + 1];
byte busy = THREADS + 1; /* who has not come to an end */
hidden byte at, missing;

inline move(object, from, to) {
    assert(place[object] == from);
    place[object] = to
}

/* ---- strays ---- */

inline stray(object, first) {
    first = strays;
    do
    ::
        next[object] = first;
        atomic {
            if
#ifdef ADDS_IN_TWO_STEPS
            :: true ->
#else
            :: strays == first ->
#endif
                strays = object;
                move(object, _pid, ASTRAY);
                break
#ifndef ADDS_IN_TWO_STEPS
#ifdef LOOKS_ONCE
            :: else
#else
            :: else -> first = strays
#endif
#endif
            fi
        }
    od;
    first = NOTHING
}

inline go_home(object, first) {
    if
    :: atomic { move(object, _pid, HOME); next[object] = JUNK }
    :: stray(object, first)
    fi
}

/* The rest of the list is the gatherer's from its exchange on. */
inline take_strays(e) {
    d_step {
#ifndef TAKES_IN_TWO_STEPS
        e = strays;
#endif
        strays = NOTHING;
        at = e;
        do
        :: at == NOTHING -> break
        :: else -> move(at, ASTRAY, _pid); at = next[at]
        od
    }
}

inline gather(e, after, first) {
    if
    :: true /* none to be seen */
    :: strays != NOTHING ->
#ifdef TAKES_IN_TWO_STEPS
        e = strays;
#endif
        take_strays(e);
        do
        :: e == NOTHING -> break
        :: else ->
#ifdef FOLLOWS_WHAT_WENT
            go_home(e, first);
            after = next[e];
            assert(after != JUNK);
#else
            after = next[e];
            go_home(e, first);
#endif
            e = after
        od;
        after = NOTHING
    fi
}

/* ---- the shelf ---- */

inline enter(entered) {
    if
    :: atomic { holder == 0 -> holder = _pid; entered = true }
#ifdef ENTERS_WHEN_REFUSED
    :: entered = true
#else
    :: entered = false
#endif
    fi
}

inline unlock() {
    atomic {
        holder = 0;
        entered = false
    }
}

#define LIMIT (wanted < SHELF -> wanted : SHELF)

inline take(object, entered, have, guess) {
    have = count;
    if
    :: /* none to be seen */
        guess = wanted;
        if
        :: guess < SHELF -> wanted = guess + 1
        :: else
        fi
    :: have > 0 ->
        enter(entered);
        if
        :: entered ->
#ifndef BELIEVES_ITS_LOOK
            have = count;
#endif
            if
            :: have > 0 ->
                object = shelf[have - 1];
                atomic {
                    count = have - 1;
                    move(object, SHELVED, _pid)
                }
            :: else
            fi;
            unlock()
        :: else
        fi
    fi;
    have = 0;
    guess = 0
}

inline leave(object, surplus, entered, have, guess) {
    enter(entered); /* or it sees that there is nothing there, nor anything wanted */
    if
    :: entered ->
        have = count;
        guess = LIMIT;
        if
        :: have < guess ->
            assert(have < SHELF);
            shelf[have] = object;
            atomic {
                count = have + 1;
                move(object, _pid, SHELVED)
            };
            object = NOTHING
        :: else ->
            guess = wanted;
            if
            :: guess > 0 -> wanted = guess - 1
            :: else
            fi;
            guess = LIMIT;
            if
            :: have > guess -> /* the oldest goes as well */
                surplus = shelf[0];
                shelf[0] = shelf[1];
                atomic {
                    count = have - 1;
                    move(surplus, SHELVED, _pid)
                }
            :: else
            fi
        fi;
        have = 0;
        guess = 0;
        unlock()
    :: else
    fi
}

/* ---- fork ---- */

inline child() {
    d_step {
        missing = (place[1] == ASTRAY) + (place[2] == ASTRAY) + (place[3] == ASTRAY);
        at = strays;
        do
        :: at == NOTHING -> break
        :: else ->
            assert(at != JUNK && place[at] == ASTRAY && missing > 0);
            missing--;
            at = next[at]
        od;
        assert(missing == 0);
        if
        :: holder == 0 ->
            missing = (place[1] == SHELVED) + (place[2] == SHELVED) + (place[3] == SHELVED);
            assert(missing == count && count <= SHELF);
            assert(count < 1 || place[shelf[0]] == SHELVED);
            assert(count < 2 || (place[shelf[1]] == SHELVED && shelf[1] != shelf[0]))
        :: else
        fi
    }
}

/* ---- who does it ---- */

proctype thread() {
    byte mine, surplus, e, after, first, have, guess, turns;
    bool entered;
    mine = _pid;
    do
    :: turns == TURNS -> break
    :: turns != TURNS ->
        turns++;
        if
        :: mine != NOTHING ->
            gather(e, after, first);
            leave(mine, surplus, entered, have, guess);
            if
            :: mine != NOTHING -> go_home(mine, first); mine = NOTHING
            :: else
            fi;
            if
            :: surplus != NOTHING -> go_home(surplus, first); surplus = NOTHING
            :: else
            fi
        :: else ->
            take(mine, entered, have, guess);
            atomic {
                if
                :: mine == NOTHING && place[1] == HOME -> mine = 1; move(mine, HOME, _pid)
                :: mine == NOTHING && place[2] == HOME -> mine = 2; move(mine, HOME, _pid)
                :: mine == NOTHING && place[3] == HOME -> mine = 3; move(mine, HOME, _pid)
                :: true
                fi
            }
        fi
    od;
    busy--
}

proctype fork() {
    child();
    busy--
}

init {
    atomic {
        place[1] = 1;
        place[2] = 2;
#if THREADS == 3
        place[3] = 3;
        run thread();
#else
        place[3] = HOME;
#endif
        run thread();
        run thread();
        run fork()
    };
    busy == 0;
    assert(holder == 0);
    child()
}

ltl ends { <> (busy == 0) }
