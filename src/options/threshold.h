/* The mmap and trim thresholds find their own values: a program that frees large mapped chunks
 * will want such chunks again, and then taking them from the heap saves a mapping and its page
 * faults each time.
 *
 * Whoever sets a threshold has decided.  In glibc's way (threshold_decay is 0) setting any of the four
 * options that steer them ends the adaptation, and they only rise.  Otherwise an option that is set
 * stays as it is, and no other does: but for trim_threshold, which has nothing to follow when
 * mmap_threshold stays.  And they fall again: by halves, towards the profile's values, when for
 * threshold_decay no chunk was freed that would justify them, wherever it lay. */
#ifndef RUNG_OPTIONS_THRESHOLD_H
#define RUNG_OPTIONS_THRESHOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"

/* No freed chunk above this size raises the thresholds. */
#define MMAP_THRESHOLD_LIMIT (32 * MIB)

struct thresholds {
    size_t mmap, trim;
};

/* The decision: what the thresholds become when a mapped chunk of freed_csz bytes is freed. */
struct thresholds threshold_after_free(struct thresholds now, size_t freed_csz);

/* What they become after `halvings` periods without evidence; `start`: whither they fall. */
struct thresholds threshold_after_quiet(struct thresholds now, struct thresholds start, uint64_t halvings);

/* Whether a freed chunk of this size is evidence for the threshold. */
static inline bool threshold_is_justified_by(size_t csz, size_t mmap_threshold) {
    return csz > mmap_threshold / 2;
}

/* A mapped chunk is freed: raises the thresholds, if they still adapt.  For any thread, with any lock
   held, as the two below. */
void thresholds_learn(size_t freed_csz);

/* A chunk of an arena is freed: the evidence for thresholds that were raised. */
void thresholds_confirm(size_t freed_csz);

/* A moment in which the thresholds may fall. */
void thresholds_age(void);

bool thresholds_frozen(void);

/* Ends the adaptation. */
void thresholds_freeze(void);

/* Lets it begin again; at start-up only. */
void thresholds_start_over(void);

/* What hugetlb >= 2 entails, once it is known that pages of that size are to be had: chunks that
   fill a huge page get a mapping of their own, unless mmap_threshold was set, and nothing adapts. */
void thresholds_for_huge_pages(size_t page);

#endif
