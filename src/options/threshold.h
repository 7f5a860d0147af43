/* The mmap and trim thresholds find their own values: a program that frees large mapped chunks
   will want such chunks again, and then taking them from the heap saves a mapping and its page
   faults each time.  Whoever sets a threshold has decided, and the adaptation ends. */
#ifndef RUNG_OPTIONS_THRESHOLD_H
#define RUNG_OPTIONS_THRESHOLD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bits.h"

/* No freed chunk above this size raises the thresholds. */
#define MMAP_THRESHOLD_LIMIT (32 * MIB)

struct thresholds {
    size_t mmap, trim;
};

/* The decision: what the thresholds become when a mapped chunk of freed_csz bytes is freed. */
struct thresholds threshold_after_free(struct thresholds now, size_t freed_csz);

/* Applies it, if the thresholds still adapt.  For any thread, with any lock held. */
void thresholds_learn(size_t freed_csz);

bool thresholds_frozen(void);

/* Ends the adaptation. */
void thresholds_freeze(void);

/* Lets it begin again; at start-up only. */
void thresholds_start_over(void);

/* What hugetlb >= 2 entails, once it is known that pages of that size are to be had: chunks that
   fill a huge page get a mapping of their own, unless mmap_threshold was set, and nothing adapts. */
void thresholds_for_huge_pages(size_t page);

#endif
