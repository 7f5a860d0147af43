/* How much free memory of all arenas together may stay resident: the allowance of options/keep.h, for
 * the process.
 *
 * Each arena publishes its own figures now and then, under its own lock; the sums need none.  The lock
 * here guards what is learned and is only ever tried for: a lesson may be missed. */
#ifndef RUNG_ARENA_BUDGET_H
#define RUNG_ARENA_BUDGET_H

#include "arena/arena.h"

/* The figures of `a` are now these.  Lock of the arena held. */
void budget_publish(struct arena *a, size_t resident, size_t in_use);

/* Since it last published, up to `most` bytes of the arena were in use.  Lock of the arena held. */
void budget_peak(struct arena *a, size_t most, uint64_t now);

/* By how much free resident memory exceeds the allowance. */
size_t budget_excess(uint64_t now);

/* Whether there is more of it than would be allowed if nothing had been learned. */
bool budget_is_learned(void);

/* `bytes` that were given back at `purged_at` are wanted again. */
void budget_regret(size_t bytes, uint64_t purged_at, uint64_t now);

/* `bytes` that are resident only because of what was learned were used again. */
void budget_confirm(size_t bytes, uint64_t now);

extern struct lock budget_lock;

#endif
