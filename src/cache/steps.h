/* What can be done to the cache of the CPU that the caller is on, each in restartable steps (cache/hot.h). */
#ifndef RUNG_CACHE_STEPS_H
#define RUNG_CACHE_STEPS_H

#include <stdbool.h>

#include "cache/cpu_cache.h"

/* The newest object of the bin; NULL: it is empty. */
void *steps_pop(size_t bin) HIDDEN;

/* False: the bin is full. */
bool steps_push(size_t bin, void *mem) HIDDEN;

/* As far as the caller is on the CPU, or has the seat, of that number: */

/* What steps_pop() says; STEPS_ELSEWHERE: it is not. */
#define STEPS_ELSEWHERE ((void *)1)
void *steps_pop_of(int number, size_t bin) HIDDEN;

/* Writes a word; nobody is between two steps of his on that CPU then, so that each has seen the word before or
   starts again.  False: it is not. */
bool steps_store_of(int number, void ***word, void **value) HIDDEN;

#endif
