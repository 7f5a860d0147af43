// The parked caches (src/cache/parked.c): slots that threads which end fill, and threads that start empty.
//
//   here                  there
//   slot                  parked_caches
//   take_from             take_from: a look, and an exchange for NULL
//   put                   parked_put: a look, and an exchange of NULL for the cache
//   thread                deep_start, its use of the cache, deep_stop
//   looker                parked_empty, or parked_holds: takes what there is, looks, puts it back
//
// What must hold:
//   - a cache is one thread's, or lies in one slot, or is no more;
//   - who has taken one has it to itself;
//   - everybody comes to an end, without a promise of fairness: a slot that another has filled or emptied is passed by;
//   - in the end no cache is lost: each lies in a slot or was given back, because there was no place.
//
// What is assumed:
//   - Sequential consistency.  A put is a release and a take an acquire, of the same slot, which is all that passes.
//   - A look that is out of date: it is relaxed, and may find a slot full or empty that is so no more.
//
// run
// run THREADS=2 LOOKERS=2 SLOTS=1
// live THREADS=2
// mutant TAKES_IN_TWO_STEPS (assertion): a taker reads the slot, then stores NULL
// mutant PUTS_IN_TWO_STEPS (assertion): a slot that was seen empty is stored to without comparing
// mutant WAITS_FOR_A_PLACE (cycle): a cache that finds no place is put again
// mutant USES_IN_PLACE (assertion): a looker looks at a cache that it leaves in its slot

#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef THREADS
#define THREADS 3
#endif
#ifndef LOOKERS
#define LOOKERS 1
#endif

#define NONE 0
#define CACHES THREADS /* never more than there are threads */

byte slot[SLOTS];

/* Not in the source: what the properties speak of. */
byte owner[CACHES + 1]; /* 0: nobody, or it is no more */
byte made;              /* caches, so far */
byte ended;
byte busy = THREADS + LOOKERS;

inline own(d) {
    atomic {
        assert(owner[d] == 0);
        owner[d] = _pid
    }
}

inline disown(d) {
    atomic {
        assert(owner[d] == _pid);
        owner[d] = 0
    }
}

inline take_from(i, d) {
    if
    :: slot[i] == NONE -> d = NONE
    :: slot[i] != NONE ->
#ifdef TAKES_IN_TWO_STEPS
        d = slot[i];
        slot[i] = NONE
#else
        atomic { d = slot[i]; slot[i] = NONE }
#endif
    fi;
    if
    :: d != NONE -> own(d)
    :: else
    fi
}

/* What finds no place is ended. */
inline put(d) {
    disown(d);
    i = 0;
    do
    :: d != NONE && i < SLOTS ->
        if
        :: slot[i] == NONE ->
#ifdef PUTS_IN_TWO_STEPS
            slot[i] = d;
            d = NONE
#else
            atomic {
                if
                :: slot[i] == NONE -> slot[i] = d; d = NONE
                :: else
                fi
            }
#endif
        :: slot[i] != NONE
        fi;
        i++
#ifdef WAITS_FOR_A_PLACE
    :: d != NONE && i == SLOTS -> i = 0
#endif
    :: d == NONE || i == SLOTS -> break
    od;
    if
    :: d != NONE -> ended++; d = NONE
    :: else
    fi
}

active [THREADS] proctype thread() {
    byte d = NONE, i = 0, turn = 0;
    do
    :: turn < 2 ->
        i = 0;
        do
        :: d == NONE && i < SLOTS -> take_from(i, d); i++
        :: else -> break
        od;
        if
        :: atomic { d == NONE && made < CACHES -> made++; d = made }; own(d)
        :: d == NONE && made >= CACHES -> skip /* it does without, so that the model stays small */
        :: else
        fi;
        if
        :: d != NONE -> assert(owner[d] == _pid); put(d)
        :: else
        fi;
        turn++
    :: else -> break
    od;
    busy--
}

active [LOOKERS] proctype looker() {
    byte d = NONE, i = 0, at = 0;
    do
    :: at < SLOTS ->
#ifdef USES_IN_PLACE
        d = slot[at];
        if
        :: d != NONE -> own(d); disown(d)
        :: else
        fi;
        d = NONE;
#else
        take_from(at, d);
        if
        :: d != NONE -> put(d)
        :: else
        fi;
#endif
        at++
    :: else -> break
    od;
    busy--
}

active proctype judge() {
    byte i = 0, lie = 0;
    busy == 0;
    do
    :: i < SLOTS -> lie = lie + (slot[i] != NONE -> 1 : 0); i++
    :: else -> break
    od;
    assert(lie + ended == made)
}

ltl all_end { <> (busy == 0) }
