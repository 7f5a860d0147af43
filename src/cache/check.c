/* Looks whether a CPU's cache is what it should be: what lies in it belongs there, and is nowhere else. */
#include "cache/check.h"

#include "base/counter.h"
#include "cache/cpu_cache.h"
#include "guard/lock.h"
#include "runs/block.h"
#include "runs/run.h"

static const char *check_entry(unsigned bin, const void *mem) {
    if (!in_run_window(mem))
        return "a cache holds what is no object";
    if (bin >= CACHE_BLOCKS)
        return block_marked_size(mem) == block_bin_size(bin - CACHE_BLOCKS)
                   ? NULL
                   : "a cache holds what is no marked block of the size";
    if (run_bin_of(mem) != bin || !run_object_plausible(mem))
        return "a cache holds what is no object of the size";
    return run_object_is_free(mem) ? "an object lies in a cache, and free in its run" : NULL;
}

static const char *check_bin(const struct cpu_cache *c, unsigned bin, const void **where) {
    const struct cpu_bin *b = &c->bin[bin];
    if (b->slots == NULL)
        return b->cap == 0 && c->full[bin] == NULL && *c->top[bin] == NULL
                   ? NULL
                   : "a bin without room is not empty and full";
    if (b->slots[0] != NULL || b->cap >= b->length || (c->full[bin] != NULL && c->full[bin] != b->slots + b->cap) ||
        c->top[bin] < b->slots || c->top[bin] >= b->slots + b->length)
        return "a bin is not where its room is";
    for (void **at = b->slots + 1; at <= c->top[bin]; at++) {
        *where = *at;
        const char *wrong = check_entry(bin, *at);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static size_t count_blocks(void) {
    size_t n = 0;
    for (const struct cpu_cache *c = cpu_caches; c != NULL; c = c->next)
        for (unsigned bin = CACHE_BLOCKS; bin < CACHE_BINS; bin++)
            n += cache_count(c, bin);
    return n;
}

static const char *check_cache(const struct cpu_cache *c, const void **where) {
    size_t spent[2] = {0};
    for (unsigned bin = 0; bin < CACHE_BINS; bin++) {
        *where = NULL;
        const char *wrong = check_bin(c, bin, where);
        if (wrong != NULL)
            return wrong;
        spent[bin >= CACHE_BLOCKS] += c->bin[bin].cap * cache_bin_size(bin);
    }
    *where = NULL;
    return spent[0] == c->spent[0] && spent[1] == c->spent[1] ? NULL : "what a cache may hold does not add up";
}

const char *caches_check(const void **where) {
    *where = NULL;
    if (!single_threaded()) /* what others take and put at this moment cannot be told from damage */
        return NULL;
    for (const struct cpu_cache *c = cpu_caches; c != NULL; c = c->next) {
        const char *wrong = check_cache(c, where);
        if (wrong != NULL)
            return wrong;
    }
    size_t marked = blocks_count_marked();
    return marked == SIZE_MAX || marked == count_blocks() ? NULL : "blocks are marked that lie in no cache";
}
