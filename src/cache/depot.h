/* Rung 2: the depot.  Full bundles of cached objects change hands between threads here, whole: a
 * thread that frees what another allocates hands over its work in one step, without looking at the
 * objects.
 *
 * A size's shelf holds a bounded number of bundles and bytes; what is more goes back to the runs. */
#ifndef RUNG_CACHE_DEPOT_H
#define RUNG_CACHE_DEPOT_H

#include "guard/lock.h"
#include "runs/run.h"

/* False: the shelf is empty, or its lock not to be had. */
bool depot_take(unsigned bin, struct bundle *b);

/* Leaves b, which is empty afterwards: on the shelf, or with the runs and arenas the objects came
   from; if no lock is to be had, in a list of strays that the next one to come along sees to. */
void depot_leave(unsigned bin, struct bundle *b);

/* Everything on the shelves goes home. */
void depot_empty(void);

/* The bytes on the shelves. */
size_t depot_bytes(void);

/* Calls f for each shelf's lock. */
void depot_each_lock(void (*f)(struct lock *, void *), void *arg);

#endif
