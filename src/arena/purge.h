/* Free memory of arenas goes back to the kernel by itself (option arena_keep).
 *
 * When an arena's free resident memory has grown, or after so many operations, somebody who holds the
 * arena's lock looks after it: what exceeds the budget (arena/budget.h) goes, the coldest first, and
 * what was not wanted for purge_delay goes too; both in bounded steps.  Pages inside go by a purge; the
 * end of top goes in the ways that malloc_trim has, but not in small pieces.  Each look also helps one
 * arena that nobody is in. */
#ifndef RUNG_ARENA_PURGE_H
#define RUNG_ARENA_PURGE_H

#include "arena/pages.h"
#include "chunk/footprint.h"

/* Lock held.  True if anything went. */
bool purge_look(struct arena *a);

/* Gives back all pages inside free chunks that may be resident; not top's.  Lock held.  True if
   anything went. */
bool purge_all_pages(struct arena *a);

/* So many operations go by between two looks. */
enum { PURGE_LOOK_EVERY = 256 };

static HOT size_t free_resident(const struct arena *a) {
    return a->resident_bytes + top_resident(a);
}

/* Memory that is not free, but for small holes. */
static HOT size_t arena_in_use(const struct arena *a) {
    return a->system - a->free_pages - top_size(a);
}

/* Before something is freed: the peaks are what the budget is measured by. */
static HOT void purge_note_peak(struct arena *a) {
    if (a->purges && arena_in_use(a) > a->most_in_use)
        a->most_in_use = arena_in_use(a);
}

/* After each operation in an arena, or before it. */
static HOT void purge_tick(struct arena *a) {
    if (UNLIKELY(a->purges) &&
        (++a->unlooked >= PURGE_LOOK_EVERY || free_resident(a) > a->look_above)) {
        purge_look(a);
        footprint_ages();
    }
}

#endif
