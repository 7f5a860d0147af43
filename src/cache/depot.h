/* Rung 2: the depot.  Cached objects change hands between threads here, many at a time: a thread that
 * frees what another allocates hands over its work in one step, without looking at the objects.
 *
 * A size's shelf holds a bounded number of objects and bytes; what is more goes back to the runs. */
#ifndef RUNG_CACHE_DEPOT_H
#define RUNG_CACHE_DEPOT_H

#include <stdbool.h>
#include <stddef.h>

#include "guard/lock.h"

/* Up to `want` objects of the bin; returns how many.  0: the shelf is empty, or its lock not to be
   had. */
size_t depot_take(unsigned bin, void **out, size_t want);

/* Leaves n objects of the bin: on the shelf, or with the runs they came from; if no lock is to be
   had, in a list of strays that the next one to come along sees to.  True: all lie on the shelf. */
bool depot_leave(unsigned bin, void *const *objects, size_t n);

/* n objects of the bin go home, past the shelves; if no lock is to be had, they are strays. */
void depot_send_home(unsigned bin, void *const *objects, size_t n);

/* Everything on the shelves, or on one, goes home. */
void depot_empty(void);
void depot_empty_shelf(unsigned bin);

/* The bytes on the shelves. */
size_t depot_bytes(void);

/* Whether the object lies there. */
bool depot_holds(unsigned bin, const void *mem);

/* Calls f for each shelf's lock. */
void depot_each_lock(void (*f)(struct lock *, void *), void *arg);

/* Strays go home, if they can. */
void depot_gather(void);

/* For whoever looks from outside (report/account.h): a shelf for each bin of runs, the number of its
   objects, a size_t, at count_at; the objects' addresses; and the first stray. */
struct depot_view {
    const void *shelves;
    size_t shelf_bytes;
    size_t count_at;
    const void *objects;
    size_t object_bytes;
    const void *strays;
};
extern const struct depot_view depot_view;

#endif
