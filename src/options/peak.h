/* The most that was in use lately.  However much a program has shown that it wants back, what would take
 * it beyond its peak again it will not use, but for holes of the wrong size: what is free and kept beyond
 * the peak, and beyond as much again as is in use, is waste.
 *
 * Pure functions of time (microseconds), as those of options/keep.h. */
#ifndef RUNG_OPTIONS_PEAK_H
#define RUNG_OPTIONS_PEAK_H

#include "options/keep.h"

struct peak {
    size_t bytes;
    uint64_t at;
};

/* How long a peak that is not reached again counts. */
#define PEAK_LASTS_US (5 * KEEP_SOON_US)

static inline void peak_note(struct peak *p, size_t in_use, uint64_t now) {
    if (in_use < p->bytes && now - p->at < PEAK_LASTS_US)
        return;
    p->bytes = in_use;
    p->at = now;
}

/* keep_limit(), with what was learned held within the peak. */
static inline size_t peak_limit(const struct peak *p, const struct keep *k, size_t in_use, size_t floor,
                                uint64_t now) {
    const struct keep nothing = {0};
    size_t room = size_max(p->bytes > in_use ? p->bytes - in_use : 0, in_use);
    return keep_limit(&nothing, in_use, floor, now) + size_min(keep_learned(k, now), room);
}

#endif
