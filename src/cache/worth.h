/* Whether a bin of a thread's cache is worth more depth than every bin has: how it missed tells.
 *
 *   empty full empty full ...      it turns: objects come and go at random, and a bin twice as deep misses a
 *                                  quarter as often
 *   empty empty ... full full ...  a burst goes up and down: twice the depth saves half of the misses, and if
 *                                  the thread then falls asleep, the objects sleep with it
 *   empty empty empty ...          the same, unless the depot had objects each time: they pass from thread
 *                                  to thread, and each exchange costs what another core has to hand over
 *
 * Both kinds of evidence are counts that rise by what speaks for them and fall by what does not. */
#ifndef RUNG_CACHE_WORTH_H
#define RUNG_CACHE_WORTH_H

#include <stdbool.h>
#include <stdint.h>

struct worth {
    uint8_t turning;
    uint8_t passing;
    bool was_full; /* at the last miss; otherwise it was empty */
};

enum {
    WORTH_TURN = 4,         /* a turn speaks for depth, as much as so many misses in a row speak against it */
    WORTH_TURNING = 8,      /* is evidence: two turns at most three misses apart */
    WORTH_TURNING_MOST = 16,
    WORTH_PASSING = 24,     /* whole exchanges, more than once up and down a shelf */
    WORTH_PASSING_MOST = 64,
    WORTH_REFUSED = 16,     /* what one speaks against depth that did not come about */
};

/* The bin was full, or empty.  True: depth is worth its memory. */
static inline bool worth_missed(struct worth *w, bool full) {
    bool turned = w->was_full != full;
    w->was_full = full;
    if (turned)
        w->turning = (uint8_t)(w->turning + WORTH_TURN < WORTH_TURNING_MOST ? w->turning + WORTH_TURN : WORTH_TURNING_MOST);
    else if (w->turning > 0)
        w->turning--;
    return w->turning >= WORTH_TURNING || w->passing >= WORTH_PASSING;
}

/* The depot had, or took, all objects of an exchange; or it did not. */
static inline void worth_exchanged(struct worth *w, bool whole) {
    if (whole)
        w->passing = (uint8_t)(w->passing < WORTH_PASSING_MOST ? w->passing + 1 : WORTH_PASSING_MOST);
    else
        w->passing = (uint8_t)(w->passing > WORTH_REFUSED ? w->passing - WORTH_REFUSED : 0);
}

#endif
