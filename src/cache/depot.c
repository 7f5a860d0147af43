#include "cache/depot.h"

#include <stdatomic.h>
#include <string.h>

#include "base/counter.h"
#include "chunk/cached.h"
#include "options/options.h"
#include "runs/run.h"

enum { SHELF_OBJECTS = 1024 };

/* A size's objects, last in first out: what came last is warm.
 *
 * An object on a shelf keeps its page from becoming idle, so no more lies there than somebody wants:
 * each time a thread comes for objects and the shelf is empty, so many more may lie there; each time
 * some are left and there is no place for them, so many fewer, and they go home. */
struct shelf {
    _Alignas(64) struct lock lock; /* threads that use other sizes are not disturbed */
    _Atomic size_t count;  /* written under the lock; read without, to see that there is nothing */
    _Atomic size_t wanted; /* a guess: written without the lock */
};

static struct shelf shelves[RUN_BINS] = {
    [0 ... RUN_BINS - 1] = {.lock = LOCK_INIT(RANK_DEPOT)},
};

/* What lies on the shelves: apart, so that it takes no memory before it is used. */
static void *shelved[RUN_BINS][SHELF_OBJECTS];

/* ---- strays: objects that nobody could take, linked through their first words ---- */

static _Atomic(struct cached *) strays;

static void add_stray(struct cached *e) {
    struct cached *first = atomic_load_explicit(&strays, memory_order_relaxed);
    do {
        mask_next(e, first);
    } while (!atomic_compare_exchange_weak_explicit(&strays, &first, e, memory_order_release,
                                                    memory_order_relaxed));
}

void depot_send_home(unsigned bin, void *const *objects, size_t n) {
    if (n > 0 && !runs_give(bin, objects, n))
        for (size_t i = 0; i < n; i++)
            add_stray(objects[i]);
}

static void gather_strays(void) {
    if (LIKELY(atomic_load_explicit(&strays, memory_order_relaxed) == NULL))
        return;
    struct cached *e = atomic_exchange_explicit(&strays, NULL, memory_order_acquire);
    while (e != NULL) {
        struct cached *next = unmask_next(e);
        void *object = e;
        depot_send_home(run_bin_of(e), &object, 1);
        e = next;
    }
}

/* ---- the shelves ---- */

/* A single thread has nobody to leave anything for. */
static bool is_shared(void) {
    return counter_get(COUNT_TCACHES) > 1;
}

/* So many at least of a size: two of the largest objects would be little to exchange. */
enum { LEAST = 12 };

static size_t shelf_limit(const struct shelf *s, unsigned bin) {
    if (!is_shared() || option(OPT_DEPOT_BYTES) == 0)
        return 0;
    size_t by_bytes = size_max(option(OPT_DEPOT_BYTES) / run_bin_size(bin), LEAST);
    size_t wanted = atomic_load_explicit(&s->wanted, memory_order_relaxed);
    return size_min(size_min(by_bytes, SHELF_OBJECTS), wanted);
}

size_t depot_take(unsigned bin, void **out, size_t want) {
    struct shelf *s = &shelves[bin];
    if (atomic_load_explicit(&s->count, memory_order_relaxed) == 0) {
        if (!is_shared())
            return 0;
        size_t wanted = atomic_load_explicit(&s->wanted, memory_order_relaxed);
        if (wanted < SHELF_OBJECTS)
            atomic_store_explicit(&s->wanted, wanted + want, memory_order_relaxed);
        return 0;
    }
    if (!lock_take(&s->lock))
        return 0;
    size_t have = atomic_load_explicit(&s->count, memory_order_relaxed);
    size_t took = size_min(have, want);
    memcpy(out, shelved[bin] + (have - took), took * sizeof *out);
    atomic_store_explicit(&s->count, have - took, memory_order_relaxed);
    lock_release(&s->lock);
    return took;
}

/* Returns how many found a place.  Lock held. */
static size_t shelve(struct shelf *s, unsigned bin, void *const *objects, size_t n) {
    size_t have = atomic_load_explicit(&s->count, memory_order_relaxed);
    size_t limit = shelf_limit(s, bin);
    size_t placed = have < limit ? size_min(n, limit - have) : 0;
    memcpy(shelved[bin] + have, objects, placed * sizeof *objects);
    atomic_store_explicit(&s->count, have + placed, memory_order_relaxed);
    return placed;
}

/* The oldest go home as well when fewer are wanted than lie there.  Lock held; returns how many were
   moved to `surplus`. */
static size_t thin_out(struct shelf *s, unsigned bin, void **surplus, size_t most) {
    size_t have = atomic_load_explicit(&s->count, memory_order_relaxed);
    size_t limit = shelf_limit(s, bin);
    size_t n = have > limit ? size_min(have - limit, most) : 0;
    memcpy(surplus, shelved[bin], n * sizeof *surplus);
    memmove(shelved[bin], shelved[bin] + n, (have - n) * sizeof *surplus);
    atomic_store_explicit(&s->count, have - n, memory_order_relaxed);
    return n;
}

bool depot_leave(unsigned bin, void *const *objects, size_t n) {
    enum { SURPLUS = 64 };
    struct shelf *s = &shelves[bin];
    void *surplus[SURPLUS];
    size_t placed = 0;
    size_t thinned = 0;
    gather_strays();
    bool open = atomic_load_explicit(&s->count, memory_order_relaxed) > 0 || shelf_limit(s, bin) > 0;
    if (open && lock_take(&s->lock)) {
        placed = shelve(s, bin, objects, n);
        if (placed < n) {
            size_t wanted = atomic_load_explicit(&s->wanted, memory_order_relaxed);
            atomic_store_explicit(&s->wanted, wanted - size_min(wanted, n - placed),
                                  memory_order_relaxed);
            thinned = thin_out(s, bin, surplus, SURPLUS);
        }
        lock_release(&s->lock);
    }
    depot_send_home(bin, objects + placed, n - placed);
    depot_send_home(bin, surplus, thinned);
    return placed == n;
}

void depot_empty_shelf(unsigned bin) {
    enum { STEP = 64 };
    void *some[STEP];
    size_t n = 1;
    /* Of an empty shelf depot_take() would take it for a wish. */
    while (n > 0 && atomic_load_explicit(&shelves[bin].count, memory_order_relaxed) > 0) {
        n = depot_take(bin, some, STEP);
        depot_send_home(bin, some, n);
    }
}

void depot_empty(void) {
    gather_strays();
    for (unsigned bin = 0; bin < RUN_BINS; bin++)
        depot_empty_shelf(bin);
}

size_t depot_bytes(void) {
    size_t bytes = 0;
    for (unsigned bin = 0; bin < RUN_BINS; bin++)
        bytes += atomic_load_explicit(&shelves[bin].count, memory_order_relaxed) * run_bin_size(bin);
    return bytes;
}

bool depot_holds(unsigned bin, const void *mem) {
    struct shelf *s = &shelves[bin];
    bool found = false;
    if (atomic_load_explicit(&s->count, memory_order_relaxed) == 0 || !lock_take(&s->lock))
        return false;
    for (size_t i = 0; i < atomic_load_explicit(&s->count, memory_order_relaxed); i++)
        found |= shelved[bin][i] == mem;
    lock_release(&s->lock);
    return found;
}

void depot_each_lock(void (*f)(struct lock *, void *), void *arg) {
    for (unsigned bin = 0; bin < RUN_BINS; bin++)
        f(&shelves[bin].lock, arg);
}

void depot_gather(void) {
    gather_strays();
}

const struct depot_view depot_view = {
    .shelves = shelves,
    .shelf_bytes = sizeof(struct shelf),
    .count_at = offsetof(struct shelf, count),
    .objects = shelved,
    .object_bytes = sizeof shelved,
    .strays = &strays,
};
