/* Caches of threads that have ended, for the next that start: a thread a request finds a cache that is warm,
 * with the depth it needs, and no lock has to be taken for each of its sizes.
 *
 * A slot holds a cache or NULL; who exchanges it for NULL has the cache to itself.  There are few slots, and
 * what lies in a parked cache is little (cache/deep.c), so threads that ended keep next to nothing. */
#ifndef RUNG_CACHE_PARKED_H
#define RUNG_CACHE_PARKED_H

#include <stdatomic.h>

#include "cache/deep.h"

enum { PARKED_MOST = 8 };

/* For whoever looks from outside, too. */
extern _Atomic(struct deep *) parked_caches[PARKED_MOST];

/* False: there is no place. */
bool parked_put(struct deep *d);

/* NULL: there is none. */
struct deep *parked_take(void);

/* Whether the object lies in one of them, as far as nobody else has them at the moment. */
bool parked_holds(unsigned bin, const void *mem);

/* What lies in them goes home. */
void parked_empty(void);

/* The same, but for those that a thread has had since the last call.  True: there is something in one. */
bool parked_age(void);

#endif
