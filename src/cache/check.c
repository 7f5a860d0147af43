/* Looks whether a thread's cache is what it should be: what lies in it belongs there, and is nowhere else. */
#include "cache/check.h"

#include "base/counter.h"
#include "cache/deep.h"
#include "guard/lock.h"
#include "runs/block.h"
#include "runs/run.h"

static const char *check_entry(unsigned bin, const void *mem) {
    if (!in_run_window(mem))
        return "a cache holds what is no object";
    if (bin >= DEEP_BLOCKS)
        return block_marked_size(mem) == block_bin_size(bin - DEEP_BLOCKS)
                   ? NULL
                   : "a cache holds what is no marked block of the size";
    if (run_bin_of(mem) != bin || !run_object_plausible(mem))
        return "a cache holds what is no object of the size";
    return run_object_is_free(mem) ? "an object lies in a cache, and free in its run" : NULL;
}

static const char *check_bin(const struct deep *d, unsigned bin, const void **where) {
    const struct deep_depth *p = &d->depth[bin];
    if (p->slots == NULL)
        return p->cap == 0 && d->top[bin] == d->full[bin] && *d->top[bin] == NULL
                   ? NULL
                   : "a bin without room is not empty and full";
    if (p->slots[0] != NULL || p->cap >= p->length || d->full[bin] != p->slots + p->cap ||
        d->top[bin] < p->slots || d->top[bin] > d->full[bin])
        return "a bin is not where its room is";
    for (void **at = p->slots + 1; at <= d->top[bin]; at++) {
        *where = *at;
        const char *wrong = check_entry(bin, *at);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static size_t count_blocks(const struct deep *d) {
    size_t n = 0;
    for (unsigned bin = DEEP_BLOCKS; bin < DEEP_BINS; bin++)
        n += d->depth[bin].slots != NULL ? (size_t)(d->top[bin] - d->depth[bin].slots) : 0;
    return n;
}

/* Others' caches hold marked blocks as well. */
static bool marked_blocks_are_mine(const struct deep *d) {
    if (!single_threaded() || counter_get(COUNT_TCACHES) > 1)
        return true;
    size_t marked = blocks_count_marked();
    return marked == SIZE_MAX || marked == count_blocks(d);
}

static size_t bytes_of(const struct deep *d, unsigned bin) {
    return d->depth[bin].cap * (bin < RUN_BINS ? run_bin_size(bin) : block_bin_size(bin - DEEP_BLOCKS));
}

const char *deep_check(const void **where) {
    const struct deep *d = self.deep;
    size_t spent[2] = {0};
    for (unsigned bin = 0; bin < DEEP_BINS; bin++) {
        *where = NULL;
        const char *wrong = check_bin(d, bin, where);
        if (wrong != NULL)
            return wrong;
        if (d->depth[bin].cap > 0)
            spent[bin >= DEEP_BLOCKS] += bytes_of(d, bin);
    }
    *where = NULL;
    if (spent[0] != d->spent[0] || spent[1] != d->spent[1])
        return "what a cache may hold does not add up";
    return marked_blocks_are_mine(d) ? NULL : "blocks are marked that lie in no cache";
}
