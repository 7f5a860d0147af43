/* The steps in C: for machines without ones of their own, and for sanitizers.  Nobody restarts them, so they
   are for seats only, and caches_begin() sees to it that there is nothing else. */
#include "cache/steps.h"

#if !RUNG_RESTARTABLE

void *steps_pop(size_t bin) {
    struct cpu_cache *c = cache_numbered(cache_number());
    void *mem = *c->top[bin];
    if (mem != NULL)
        c->top[bin]--;
    return mem;
}

bool steps_push(size_t bin, void *mem) {
    struct cpu_cache *c = cache_numbered(cache_number());
    if (c->top[bin] >= c->full[bin])
        return false;
    *++c->top[bin] = mem;
    return true;
}

void *steps_pop_of(int number, size_t bin) {
    return cache_number() == number ? steps_pop(bin) : STEPS_ELSEWHERE;
}

bool steps_store_of(int number, void ***word, void **value) {
    if (cache_number() != number)
        return false;
    *word = value;
    return true;
}

#endif
