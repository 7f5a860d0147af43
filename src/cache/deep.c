#include "cache/deep.h"

#include <stdatomic.h>
#include <string.h>

#include "base/counter.h"
#include "cache/depot.h"
#include "cache/parked.h"
#include "chunk/footprint.h"
#include "chunk/meta.h"
#include "guard/assert.h"
#include "options/options.h"
#include "runs/block.h"
#include "runs/run.h"

/* Never written to, but not const: a write would be a bug that a fault should show. */
static void *no_object = NULL;
struct deep deep_none = {
    .top = {[0 ... DEEP_BINS - 1] = &no_object},
    .full = {[0 ... DEEP_BINS - 1] = &no_object},
};

/* How many calls off the hot path lie between two looks at a bin that may be idle. */
enum { LOOK_EVERY = 32 };

/* Of tcache_budget every thread has one part in so many; the rest a bin has to be worth (cache/worth.h). */
enum { UNPROVEN = 16 };

/* One part in so many of the library's memory, no more, may be caches beyond that, of all threads
   together: what sleeping threads hold is little beside what the process has. */
enum { EARNED_SHARE = 8 };

static _Atomic size_t earned; /* what caches may hold beyond the unproven part, bytes, all threads' */

/* ---- how deep ---- */

static size_t bin_size(unsigned bin) {
    if (bin < RUN_BINS)
        return run_bin_size(bin);
    return bin < DEEP_BLOCKS ? 0 : block_bin_size(bin - DEEP_BLOCKS); /* 0: no size's, always empty */
}

/* At most 1023 objects, so that with the NULL below them they are a round number, and 128 KiB; of blocks, 1
   MiB. */
static size_t cap_max(unsigned bin) {
    size_t bytes = bin < RUN_BINS ? 128 * KIB : MIB;
    size_t n = size_min(size_min(bytes / bin_size(bin), 1023), option(OPT_TCACHE_DEPTH_MAX));
    return size_max(n, 1);
}

static size_t count_of(const struct deep *d, unsigned bin) {
    const struct deep_depth *p = &d->depth[bin];
    return p->slots != NULL ? (size_t)(d->top[bin] - p->slots) : 0;
}

/* 16, 64, 256 or 1024, the NULL in front included: a bin moves at most three times on its way down. */
static size_t length_for(size_t cap) {
    return cap < 16 ? 16 : cap < 64 ? 64 : cap < 256 ? 256 : 1024;
}

/* A thirty-second of the unproven part, two objects at least: that much of each size, whatever the rest is. */
static size_t first_cap(unsigned bin) {
    if (bin >= DEEP_BLOCKS)
        return 1;
    size_t bytes = option(OPT_TCACHE_BUDGET) / UNPROVEN / 32;
    size_t n = size_min(size_max(option(OPT_TCACHE_COUNT), 2) - 1, size_max(bytes / bin_size(bin), 2));
    return size_min(n, cap_max(bin));
}

/* What all bins together may hold, in bytes.  Blocks have as much again, twice: one of them would leave
   little to all else. */
static size_t most(bool block) {
    return (block ? 2 : 1) * option(OPT_TCACHE_BUDGET);
}

static bool can_afford(const struct deep *d, unsigned bin, size_t more, bool proven) {
    bool block = bin >= DEEP_BLOCKS;
    size_t bytes = d->spent[block] + more * bin_size(bin);
    if (bytes <= most(block) / UNPROVEN)
        return true;
    return proven && bytes <= most(block) &&
           atomic_load_explicit(&earned, memory_order_relaxed) + more * bin_size(bin) <= footprint() / EARNED_SHARE;
}

static size_t beyond_unproven(const struct deep *d) {
    size_t sum = 0;
    for (int block = 0; block <= 1; block++)
        sum += d->spent[block] - size_min(d->spent[block], most(block) / UNPROVEN);
    return sum;
}

static void set_cap(struct deep *d, unsigned bin, size_t cap) {
    struct deep_depth *p = &d->depth[bin];
    bool block = bin >= DEEP_BLOCKS;
    size_t before = beyond_unproven(d);
    d->spent[block] += cap * bin_size(bin);
    d->spent[block] -= p->cap * bin_size(bin);
    p->cap = (uint16_t)cap;
    d->full[bin] = p->slots + cap;
    if (beyond_unproven(d) != before)
        atomic_fetch_add_explicit(&earned, beyond_unproven(d) - before, memory_order_relaxed);
}

/* Memory for `cap` objects and no more than that takes; the ones that are there, at most `cap`, move along.
   False: there is none. */
static bool make_slots(struct deep *d, unsigned bin, size_t cap) {
    struct deep_depth *p = &d->depth[bin];
    size_t length = length_for(cap);
    if (p->slots != NULL && length == p->length)
        return true;
    void **slots = meta_alloc_dirty(length * sizeof *slots);
    if (slots == NULL)
        return false;
    slots[0] = NULL;
    size_t count = count_of(d, bin);
    if (count > 0)
        memcpy(slots + 1, p->slots + 1, count * sizeof *slots);
    if (p->slots != NULL)
        meta_free(p->slots, p->length * sizeof *slots);
    p->slots = slots;
    p->length = (uint16_t)length;
    d->top[bin] = slots + count;
    d->full[bin] = slots + p->cap;
    return true;
}

/* No bin is shallower than it has objects. */
static void make_shallower(struct deep *d, unsigned bin, size_t cap) {
    set_cap(d, bin, cap);
    (void)make_slots(d, bin, cap); /* else it keeps what it has */
}

/* The bin was empty, or full. */
static void deepen(struct deep *d, unsigned bin, bool full) {
    struct deep_depth *p = &d->depth[bin];
    p->missed = true;
    bool proven = worth_missed(&p->worth, full);
    size_t deeper = p->cap == 0 ? first_cap(bin) : size_min(p->cap * 2 + (size_t)1, cap_max(bin));
    bool due = p->cap == 0 && bin < RUN_BINS; /* some are kept of each size */
    if (deeper == p->cap || (!due && !can_afford(d, bin, deeper - p->cap, proven)))
        return;
    if (make_slots(d, bin, deeper))
        set_cap(d, bin, deeper);
}

/* ---- leaving ---- */

/* The n objects that have lain longest. */
static void leave_oldest(struct deep *d, unsigned bin, size_t n) {
    struct deep_depth *p = &d->depth[bin];
    size_t count = count_of(d, bin);
    if (bin < RUN_BINS)
        worth_exchanged(&p->worth, depot_leave(bin, p->slots + 1, n));
    else
        for (size_t i = 1; i <= n; i++)
            block_give_marked(p->slots[i]);
    memmove(p->slots + 1, p->slots + 1 + n, (count - n) * sizeof *p->slots);
    d->top[bin] -= n;
}

/* A bin that was neither empty nor full for a whole round of the hand holds more than is needed. */
static void look_around(struct deep *d) {
    if (++d->visits % LOOK_EVERY != 0)
        return;
    unsigned bin = d->hand;
    d->hand = (bin + 1) % DEEP_BINS;
    struct deep_depth *p = &d->depth[bin];
    if (p->cap == 0)
        return;
    if (!p->missed || !can_afford(d, bin, 0, true)) {
        size_t half = (count_of(d, bin) + 1) / 2;
        if (half > 0)
            leave_oldest(d, bin, half);
        size_t cap = size_max(p->cap / 2, first_cap(bin));
        if (cap >= count_of(d, bin) && cap > 0 && cap < p->cap)
            make_shallower(d, bin, cap);
    }
    p->missed = false;
}

/* ---- taking and putting ---- */

void *deep_take(unsigned bin) {
    struct deep *d = self.deep;
    void *mem = deep_pop(d, bin);
    if (mem != NULL)
        return mem;
    deepen(d, bin, false);
    struct deep_depth *p = &d->depth[bin];
    if (UNLIKELY(p->slots == NULL))
        return runs_take(bin, &mem, 1) == 1 ? mem : NULL;
    size_t want = (p->cap + (size_t)1) / 2;
    size_t n = depot_take(bin, p->slots + 1, want);
    worth_exchanged(&p->worth, n == want);
    if (n == 0)
        n = runs_take(bin, p->slots + 1, want);
    d->top[bin] = p->slots + n;
    mem = deep_pop(d, bin);
    look_around(d);
    return mem;
}

/* The bin is full.  False: it stays so. */
static bool make_place(struct deep *d, unsigned bin) {
    struct deep_depth *p = &d->depth[bin];
    size_t before = p->cap;
    deepen(d, bin, true);
    if (UNLIKELY(p->slots == NULL))
        return false;
    if (p->cap == before)
        leave_oldest(d, bin, (count_of(d, bin) + 1) / 2);
    return true;
}

void deep_put(unsigned bin, void *mem) {
    struct deep *d = self.deep;
    if (deep_push(d, bin, mem))
        return;
    if (LIKELY(make_place(d, bin)))
        (void)deep_push(d, bin, mem);
    else
        depot_leave(bin, &mem, 1);
    look_around(d);
}

/* ---- blocks: nothing is written in them ---- */

void *deep_take_block(unsigned bin) {
    struct deep *d = self.deep;
    void **top = d->top[DEEP_BLOCKS + bin];
    if (*top == NULL) {
        deepen(d, DEEP_BLOCKS + bin, false);
        return NULL;
    }
    d->top[DEEP_BLOCKS + bin] = top - 1;
    block_unmark(*top);
    return *top;
}

void deep_put_block(unsigned bin, void *mem) {
    struct deep *d = self.deep;
    bin += DEEP_BLOCKS;
    if (d->top[bin] != d->full[bin] || make_place(d, bin))
        *++d->top[bin] = mem;
    else
        block_give_marked(mem);
    look_around(d);
}

/* ---- start and end ---- */

bool deep_start(void) {
    struct deep *d = parked_take();
    if (d == NULL) {
        d = meta_alloc(sizeof *d);
        if (d == NULL)
            return false;
        memcpy(d->top, deep_none.top, sizeof d->top);
        memcpy(d->full, deep_none.full, sizeof d->full);
    }
    self.deep = d;
    return true;
}

static void empty_from(struct deep *d, unsigned first) {
    for (unsigned bin = first; bin < DEEP_BINS; bin++)
        if (count_of(d, bin) > 0)
            leave_oldest(d, bin, count_of(d, bin));
}

void deep_empty(struct deep *d) {
    empty_from(d, 0);
}

/* What its thread had earned is not the next one's. */
static void become_shallow(struct deep *d) {
    for (unsigned bin = 0; bin < DEEP_BINS && beyond_unproven(d) > 0; bin++) {
        if (d->depth[bin].cap == 0)
            continue;
        size_t cap = size_min(d->depth[bin].cap, first_cap(bin));
        if (count_of(d, bin) > cap)
            leave_oldest(d, bin, count_of(d, bin) - cap);
        make_shallower(d, bin, cap);
    }
}

void deep_end(struct deep *d) {
    deep_empty(d);
    atomic_fetch_sub_explicit(&earned, beyond_unproven(d), memory_order_relaxed);
    for (unsigned bin = 0; bin < DEEP_BINS; bin++)
        if (d->depth[bin].slots != NULL)
            meta_free(d->depth[bin].slots, d->depth[bin].length * sizeof(void *));
    meta_free(d, sizeof *d);
}

void deep_stop(void) {
    struct deep *d = self.deep;
    self.deep = &deep_none;
    empty_from(d, DEEP_BLOCKS);
    become_shallow(d);
    if (!parked_put(d))
        deep_end(d);
}

/* ---- looking ---- */

bool deep_holds(const struct deep *d, unsigned bin, const void *mem) {
    for (size_t i = 1, n = count_of(d, bin); i <= n; i++)
        if (d->depth[bin].slots[i] == mem)
            return true;
    return false;
}

size_t deep_bytes(const struct deep *d) {
    size_t bytes = 0;
    for (unsigned bin = 0; bin < DEEP_BINS; bin++)
        bytes += count_of(d, bin) * bin_size(bin);
    return bytes;
}
