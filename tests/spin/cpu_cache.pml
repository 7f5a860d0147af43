// The caches of CPUs (src/cache/cpu_cache.c, src/cache/steps.h): restartable steps, and how a bin's slots are exchanged
// while others pop and push.
//
//   here                 there
//   top, limit, word      one bin of each CPU's cache, and its slots: two arrays a CPU, of which one is in use
//   pop, push            the hits of malloc and free, steps_pop, steps_push
//   store                steps_store_of
//   exchange             make_deeper; what it popped and cannot keep goes home, as with leave()
//   locked               the cache's lock, which nobody waits for
//   kernel               gives a CPU to another thread, and threads to other CPUs
//
// What must hold:
//   - an object is with one thread, in one cache, or at home;
//   - nobody reads or writes slots that were given back;
//   - in the end each cache holds what lies in none other, once;
//   - everybody comes to an end, once nobody is moved any more.
//
// What is assumed:
//   - A thread that lost its CPU between two steps goes on at the first (rseq(2)); the last one is one instruction.
//   - Sequential consistency: who runs on a CPU sees what ran there before, which is what a switch gives.
//   - A thread is moved so many times and no more (SWITCHES).
//
// run
// live
// mutant NO_RESTART (assertion): who lost the CPU goes on where he was
// mutant STORES_ANYWHERE (assertion): a store does not ask which CPU it is on
// mutant FULL_STAYS (assertion): slots are exchanged while objects may be put into the bin
// mutant GIVES_BACK_FIRST (assertion): the old slots are given back before top leads to the new ones
// mutant WAITS_FOR_THE_LOCK (cycle): who finds the lock taken tries again
// mutant NO_LOCK (assertion): two exchange the slots of a bin at once

#ifndef THREADS
#define THREADS 2
#endif
#ifndef SWITCHES
#define SWITCHES 2
#endif
#define CPUS 2
#define LENGTH 3 /* slots of an array, the NULL in front included */
#define ARRAYS 4
#define OBJECTS 3
#define HOME 100
#define CACHED 50 /* and the CPU's number */

byte word[12];   /* ARRAYS * LENGTH */
bool given_back[ARRAYS];
byte top[CPUS];
byte limit[CPUS]; /* full there; 0: nothing may be put in; otherwise where top may not go beyond, and one */
byte in_use[CPUS];
bool locked[CPUS];

byte running[CPUS];
byte cpu[THREADS];
bool ended[THREADS];
bool off[THREADS];     /* it has no CPU */
bool restart[THREADS];
byte switches;

byte place[OBJECTS + 1];
byte busy = THREADS;

#define ON (!off[me])

/* One step of a sequence that begins at `first`. */
#ifdef NO_RESTART
#define STEP(first) ON
#else
#define STEP(first) ON -> if :: restart[me] -> restart[me] = false; goto first :: else fi
#endif

#define LOOK(at) assert(!given_back[(at) / LENGTH])

inline begin_sequence() {
    atomic { ON -> restart[me] = false; n = cpu[me] }
}

proctype thread(byte me) {
    byte n, at, o, mine, turn, who, kept, fresh, i;
    bool fine;
    mine = me + 1; /* an object to begin with */
    do
    :: turn < 2 ->
        turn++;
        if
        :: mine != 0 -> /* push */
push:       begin_sequence();
            atomic { STEP(push); at = top[n]; if :: limit[n] == 0 || at + 1 >= limit[n] -> goto refused :: else fi };
            atomic { STEP(push); LOOK(at + 1); word[at + 1] = mine };
            atomic { STEP(push); assert(place[mine] == me); place[mine] = CACHED + n; top[n] = top[n] + 1; mine = 0 };
            goto done;
refused:    place[mine] = HOME; mine = 0
        :: mine == 0 -> /* pop */
pop:        begin_sequence();
            atomic { STEP(pop); at = top[n] };
            atomic { STEP(pop); LOOK(at); o = word[at]; if :: o == 0 -> goto done :: else fi };
            atomic { STEP(pop); assert(place[o] == CACHED + n); place[o] = me; top[n] = top[n] - 1; mine = o }
        :: true -> /* exchange the slots of the CPU that this is now */
            atomic { ON -> who = cpu[me] };
#ifndef NO_LOCK
#ifdef WAITS_FOR_THE_LOCK
again:      atomic { if :: locked[who] -> goto again :: else -> locked[who] = true fi };
#else
            atomic { if :: locked[who] -> goto done :: else -> locked[who] = true fi };
#endif
#endif
            fresh = in_use[who] ^ 1;
            atomic { i = fresh * LENGTH; given_back[fresh] = false; word[i] = 0; word[i + 1] = 0; word[i + 2] = 0; kept = 0; fine = true };
#ifndef FULL_STAYS
nothing:    begin_sequence();
            atomic { STEP(nothing);
#ifndef STORES_ANYWHERE
                if :: n != who -> fine = false :: else -> limit[who] = 0 fi
#else
                limit[who] = 0
#endif
            };
#endif
            do
            :: fine ->
out:            begin_sequence();
                atomic { STEP(out); if :: n != who -> fine = false; break :: else fi; at = top[n] };
                atomic { STEP(out); LOOK(at); o = word[at]; if :: o == 0 -> break :: else fi };
                atomic { STEP(out); assert(place[o] == CACHED + n); place[o] = me; top[n] = top[n] - 1 };
                kept++;
                assert(kept < LENGTH);
                word[fresh * LENGTH + kept] = o
            :: else -> break
            od;
#ifdef GIVES_BACK_FIRST
            if :: fine -> given_back[in_use[who]] = true :: else fi;
#endif
            if
            :: fine ->
there:          begin_sequence();
                atomic { STEP(there);
#ifndef STORES_ANYWHERE
                    if :: n != who -> fine = false :: else fi;
#endif
                    if
                    :: fine ->
                        top[who] = fresh * LENGTH + kept;
                        for (i : 1 .. 2) {
                            if :: i <= kept -> place[word[fresh * LENGTH + i]] = CACHED + who :: else fi
                        }
                    :: else
                    fi
                }
            :: else
            fi;
            if
            :: !fine -> /* what was popped goes home, and nobody ever saw the new slots */
                atomic {
                    for (i : 1 .. 2) {
                        if :: i <= kept -> place[word[fresh * LENGTH + i]] = HOME :: else fi
                    }
                    given_back[fresh] = true
                }
            :: fine ->
                atomic { given_back[in_use[who]] = true; in_use[who] = fresh };
room:           begin_sequence();
                atomic { STEP(room);
#ifndef STORES_ANYWHERE
                    if :: n == who -> limit[who] = fresh * LENGTH + LENGTH :: else fi
#else
                    limit[who] = fresh * LENGTH + LENGTH
#endif
                }
            fi;
            locked[who] = false
        fi;
done:   skip
    :: else -> break
    od;
    atomic { /* the CPU is free for another */
        if :: mine != 0 -> place[mine] = HOME :: else fi;
        busy--;
        ended[me] = true;
        if
        :: !off[me] -> off[me] = true; running[cpu[me]] = 255
        :: else
        fi
    }
}

/* Gives a CPU that nobody has to a thread that has none. */
proctype giver(byte me) {
    do
    :: atomic { !ended[me] && off[me] && running[0] == 255 -> running[0] = me; cpu[me] = 0; off[me] = false }
    :: atomic { !ended[me] && off[me] && running[1] == 255 -> running[1] = me; cpu[me] = 1; off[me] = false }
    :: ended[me] -> break
    od
}

/* Takes CPUs away, or moves a thread to one that is free. */
active proctype kernel() {
    byte t, c;
    do
    :: atomic { busy == 0 -> break }
    :: atomic {
        busy > 0 && switches < SWITCHES ->
        switches++;
        select(t : 0 .. THREADS - 1);
        select(c : 0 .. CPUS - 1);
        if
        :: !ended[t] && off[t] && running[c] != 255 ->
            off[running[c]] = true; restart[running[c]] = true;
            running[c] = t; cpu[t] = c; off[t] = false
        :: !ended[t] && !off[t] && cpu[t] != c && running[c] == 255 ->
            restart[t] = true;
            running[cpu[t]] = 255; running[c] = t; cpu[t] = c
        :: !ended[t] && !off[t] && cpu[t] == c -> /* and another may have it */
            restart[t] = true; off[t] = true; running[c] = 255
        :: else
        fi
       }
    od;
    /* In the end. */
    atomic {
        for (c : 0 .. CPUS - 1) {
            assert(top[c] / LENGTH == in_use[c]);
            t = top[c];
            do
            :: word[t] != 0 -> assert(place[word[t]] == CACHED + c); place[word[t]] = HOME; t--
            :: else -> break
            od
        }
        for (t : 1 .. THREADS) {
            assert(place[t] == HOME)
        }
    }
}

init {
    atomic {
        byte t;
        for (t : 0 .. THREADS - 1) {
            off[t] = true;
            place[t + 1] = t
        }
        running[0] = 255; running[1] = 255;
        given_back[1] = true; given_back[3] = true;
        in_use[0] = 0; in_use[1] = 2;
        top[0] = 0; top[1] = 2 * LENGTH;
        limit[0] = LENGTH; limit[1] = 2 * LENGTH + LENGTH;
        for (t : 0 .. THREADS - 1) { run thread(t); run giver(t) }
    }
}

/* Nobody waits for anybody, and restarts end when the kernel moves nobody any more. */
ltl ends { <> (busy == 0) }
