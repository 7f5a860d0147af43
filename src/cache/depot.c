#include "cache/depot.h"

#include <stdatomic.h>

#include "cache/hand_back.h"
#include "options/options.h"

enum { SHELF_BUNDLES = 64 };

/* A shelf's bundles, last in first out: what came last is warm. */
struct shelf {
    struct lock lock;
    _Atomic unsigned count; /* written under the lock; read without, to see that there is nothing */
    size_t bytes;
    struct bundle bundle[SHELF_BUNDLES];
};

static struct shelf shelves[RUN_BINS] = {
    [0 ... RUN_BINS - 1] = {.lock = LOCK_INIT(RANK_DEPOT)},
};

/* ---- strays: objects that nobody could take, linked through their first words ---- */

static _Atomic(struct cached *) strays;

static void add_strays(struct bundle *b) {
    for (struct cached *e = b->head; e != NULL;) {
        struct cached *next = unmask_next(e);
        struct cached *first = atomic_load_explicit(&strays, memory_order_relaxed);
        do {
            mask_next(e, first);
        } while (!atomic_compare_exchange_weak_explicit(&strays, &first, e, memory_order_release,
                                                        memory_order_relaxed));
        e = next;
    }
    *b = (struct bundle){0};
}

/* To where they came from.  `b` is emptied; what could not go is a stray. */
static void send_home(unsigned bin, struct bundle *b) {
    if (b->count == 0)
        return;
    if (!runs_give(bin, b)) {
        add_strays(b);
        return;
    }
    for (struct cached *e = b->head; e != NULL;) { /* chunks of arenas that shared the bin */
        struct cached *next = unmask_next(e);
        e->key = 0;
        hand_back(chunk_of_mem(e));
        e = next;
    }
    *b = (struct bundle){0};
}

static void gather_strays(void) {
    if (LIKELY(atomic_load_explicit(&strays, memory_order_relaxed) == NULL))
        return;
    struct cached *e = atomic_exchange_explicit(&strays, NULL, memory_order_acquire);
    while (e != NULL) {
        struct cached *next = unmask_next(e);
        struct bundle one = {0};
        bundle_push(&one, e);
        send_home(in_run(e) ? run_bin_of(e) : 0, &one);
        e = next;
    }
}

/* ---- the shelves ---- */

bool depot_take(unsigned bin, struct bundle *b) {
    struct shelf *s = &shelves[bin];
    if (atomic_load_explicit(&s->count, memory_order_relaxed) == 0 || !lock_take(&s->lock))
        return false;
    unsigned n = atomic_load_explicit(&s->count, memory_order_relaxed);
    if (n > 0) {
        *b = s->bundle[n - 1];
        s->bytes -= b->count * run_bin_size(bin);
        atomic_store_explicit(&s->count, n - 1, memory_order_relaxed);
    }
    lock_release(&s->lock);
    return n > 0;
}

static bool shelve(unsigned bin, struct bundle *b) {
    struct shelf *s = &shelves[bin];
    size_t bytes = b->count * run_bin_size(bin);
    if (option(OPT_DEPOT_BYTES) == 0 || !lock_take(&s->lock))
        return false;
    unsigned n = atomic_load_explicit(&s->count, memory_order_relaxed);
    bool fits = n < SHELF_BUNDLES && s->bytes + bytes <= option(OPT_DEPOT_BYTES);
    if (fits) {
        s->bundle[n] = *b;
        s->bytes += bytes;
        atomic_store_explicit(&s->count, n + 1, memory_order_relaxed);
        *b = (struct bundle){0};
    }
    lock_release(&s->lock);
    return fits;
}

void depot_leave(unsigned bin, struct bundle *b) {
    if (b->count == 0)
        return;
    gather_strays();
    if (!shelve(bin, b))
        send_home(bin, b);
}

void depot_empty(void) {
    gather_strays();
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        struct bundle b = {0};
        while (depot_take(bin, &b))
            send_home(bin, &b);
    }
}

size_t depot_bytes(void) {
    size_t bytes = 0;
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        struct shelf *s = &shelves[bin];
        if (atomic_load_explicit(&s->count, memory_order_relaxed) > 0 && lock_take(&s->lock)) {
            bytes += s->bytes;
            lock_release(&s->lock);
        }
    }
    return bytes;
}

void depot_each_lock(void (*f)(struct lock *)) {
    for (unsigned bin = 0; bin < RUN_BINS; bin++)
        f(&shelves[bin].lock);
}
