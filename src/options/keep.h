/* How much free memory may stay resident: a share of what is in use with a floor, and what the program
 * has shown that it takes back soon.
 *
 * Pure functions of time (microseconds), so that tests need no clock.
 *
 * The lesson: memory that was purged and is wanted again shortly afterwards should have been kept; the
 * allowance rises by twice as much, so that a program that swings by 300 MiB is learned in one swing.
 * Memory that was only kept because of the allowance and is used again confirms it.  Without either,
 * the allowance halves every few seconds. */
#ifndef RUNG_OPTIONS_KEEP_H
#define RUNG_OPTIONS_KEEP_H

#include "base/bits.h"

struct keep {
    size_t learned;   /* bytes, as of `at` */
    uint64_t at;      /* the last lesson or confirmation */
    size_t peak;      /* the most that was in use, as of `peak_at` */
    uint64_t peak_at;
    size_t reused;    /* bytes that were kept and used again since `reused_since` */
    uint64_t reused_since;
};

/* What is called soon, and what the allowance's half-life is. */
#define KEEP_SOON_US ((uint64_t)2000000)
#define KEEP_HALVES_US ((uint64_t)4000000)

/* The share of what is in use that may be free and resident: one in so many. */
#define KEEP_SHARE 8

static inline size_t keep_learned(const struct keep *k, uint64_t now) {
    uint64_t halvings = now > k->at ? (now - k->at) / KEEP_HALVES_US : 0;
    return halvings < 64 ? k->learned >> halvings : 0;
}

static inline size_t keep_peak(const struct keep *k, uint64_t now) {
    uint64_t halvings = now > k->peak_at ? (now - k->peak_at) / KEEP_HALVES_US : 0;
    return halvings < 64 ? k->peak >> halvings : 0;
}

/* `in_use` bytes are in use. */
static inline void keep_saw(struct keep *k, size_t in_use, uint64_t now) {
    if (in_use >= keep_peak(k, now)) {
        k->peak = in_use;
        k->peak_at = now;
    }
}

/* What was learned, but no more than would take the program back to its last peak. */
static inline size_t keep_learned_below_peak(const struct keep *k, size_t in_use, uint64_t now) {
    size_t peak = keep_peak(k, now);
    return size_min(keep_learned(k, now), peak > in_use ? peak - in_use : 0);
}

/* What may be free and resident of everybody, before anything is learned. */
static inline size_t keep_share(size_t in_use, size_t floor) {
    return size_max(in_use / KEEP_SHARE, floor);
}

/* The free bytes that may be resident while `in_use` bytes are not free. */
static inline size_t keep_limit(const struct keep *k, size_t in_use, size_t floor, uint64_t now) {
    return keep_share(in_use, floor) + keep_learned_below_peak(k, in_use, now);
}

/* The same where free memory has holes of the wrong sizes, so that a program that replaces blocks of all
   sizes never gets by with the room below its peak: as much again as is in use may be learned. */
static inline size_t keep_limit_with_holes(const struct keep *k, size_t in_use, size_t floor, uint64_t now) {
    size_t learned = size_min(keep_learned(k, now), in_use);
    return keep_share(in_use, floor) + size_max(learned, keep_learned_below_peak(k, in_use, now));
}

/* `bytes` that were purged at `purged_at` are wanted again.  False: so late that it is no lesson. */
static inline bool keep_regret(struct keep *k, size_t bytes, uint64_t purged_at, uint64_t now) {
    if (now - purged_at > KEEP_SOON_US)
        return false;
    k->learned = keep_learned(k, now) + 2 * bytes;
    k->at = now;
    return true;
}

/* `bytes` that are resident only because of what was learned are used again.  One small block that comes again
   and again does not confirm that a hundred are wanted: a quarter of what was learned has to be, in the time
   in which it would halve. */
static inline void keep_confirm(struct keep *k, size_t bytes, uint64_t now) {
    if (now - k->reused_since > KEEP_HALVES_US) {
        k->reused = 0;
        k->reused_since = now;
    }
    k->reused += bytes;
    if (k->reused < keep_learned(k, now) / 4)
        return;
    k->learned = keep_learned(k, now);
    k->at = now;
    k->reused = 0;
    k->reused_since = now;
}

#endif
