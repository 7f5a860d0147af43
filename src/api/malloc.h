/* Where a call of malloc or free goes on that is no hit in a cache before runs. */
#ifndef RUNG_API_MALLOC_H
#define RUNG_API_MALLOC_H

#include <stddef.h>

#include "base/compiler.h"

void *malloc_further(size_t req) HIDDEN;

/* mem lies in a window of runs. */
void free_slow(void *mem) HIDDEN;

/* It does not, or is NULL. */
void free_foreign(void *mem) HIDDEN;

#endif
