#include "cache/deep.h"

#include "base/counter.h"
#include "cache/depot.h"
#include "chunk/meta.h"
#include "guard/assert.h"
#include "options/options.h"

/* Where a bin's room and list are. */
struct bin_place {
    uint16_t *room;
    struct cached **head;
};

static HOT struct bin_place place_of(struct deep_cache *d, unsigned bin) {
    if (bin < RUN_SMALL_BINS)
        return (struct bin_place){&d->front.room[bin], &d->front.head[bin]};
    return (struct bin_place){&d->medium_room[bin - RUN_SMALL_BINS],
                              &d->medium_head[bin - RUN_SMALL_BINS]};
}

/* ---- how deep ---- */

/* A bundle is at most 256 objects and at most 64 KiB. */
static unsigned cap_max(unsigned bin) {
    size_t n = size_min(size_min(64 * KIB / run_bin_size(bin), 256), option(OPT_TCACHE_DEPTH_MAX));
    return (unsigned)size_max(n, 1);
}

static unsigned cap_start(unsigned bin) {
    return (unsigned)size_min(cap_max(bin), size_max(option(OPT_TCACHE_COUNT), 1));
}

static void deepen(struct deep_cache *d, unsigned bin, struct bin_place p) {
    unsigned cap = d->cap[bin];
    unsigned deeper = (unsigned)size_min(cap * 2, cap_max(bin));
    size_t cost = 2 * (deeper - cap) * run_bin_size(bin); /* the spare deepens too */
    if (deeper == cap || cost > d->budget)
        return;
    d->budget -= cost;
    d->cap[bin] = (uint16_t)deeper;
    *p.room = (uint16_t)(*p.room + (deeper - cap));
}

/* ---- start and end ---- */

bool deep_start(void) {
    struct deep_cache *d = meta_alloc(sizeof *d);
    if (d == NULL)
        return false;
    d->budget = option(OPT_TCACHE_BUDGET);
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        d->cap[bin] = (uint16_t)cap_start(bin);
        *place_of(d, bin).room = d->cap[bin];
    }
    self.tcache = &d->front;
    self.bias = BIAS_RUNS;
    return true;
}

void deep_stop(void) {
    struct deep_cache *d = deep_cache();
    self.tcache = &tcache_disabled;
    self.bias = BIAS_HEADERS;
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        struct bin_place p = place_of(d, bin);
        struct bundle own = {*p.head, (size_t)(d->cap[bin] - *p.room)};
        depot_leave(bin, &own);
        depot_leave(bin, &d->spare[bin]);
    }
    meta_free(d, sizeof *d);
}

/* ---- taking ---- */

void *deep_take(unsigned bin) {
    struct deep_cache *d = deep_cache();
    struct bin_place p = place_of(d, bin);
    if (*p.head != NULL)
        return bin_pop(p.room, p.head);
    struct bundle *spare = &d->spare[bin];
    struct bundle b = *spare;
    if (b.count > 0) {
        *spare = (struct bundle){0};
    } else {
        deepen(d, bin, p);
        if (!depot_take(bin, &b) && !runs_take(bin, d->cap[bin], &b))
            return NULL;
    }
    /* Another thread's bundle may be deeper than our bin: then the bin is. */
    if (b.count > d->cap[bin])
        d->cap[bin] = (uint16_t)b.count;
    *p.head = b.head;
    *p.room = (uint16_t)(d->cap[bin] - b.count);
    return bin_pop(p.room, p.head);
}

/* ---- putting ---- */

void deep_put(unsigned bin, void *mem) {
    struct deep_cache *d = deep_cache();
    struct bin_place p = place_of(d, bin);
    if (*p.room == 0) {
        struct bundle *spare = &d->spare[bin];
        if (spare->count > 0) {
            depot_leave(bin, spare);
            deepen(d, bin, p);
        }
    }
    if (*p.room == 0) {
        d->spare[bin] = (struct bundle){*p.head, d->cap[bin]};
        *p.head = NULL;
        *p.room = d->cap[bin];
    }
    bin_push(p.room, p.head, mem);
}
