#include "cache/depot.h"

#include <stdatomic.h>

#include "cache/hand_back.h"
#include "options/options.h"

enum { SHELF_BUNDLES = 16 };

/* A shelf's bundles, last in first out: what came last is warm.
 *
 * An object on a shelf keeps its run from becoming free, so no more lies there than somebody wants:
 * each time a thread comes for a bundle and the shelf is empty, one more may lie there; each time one
 * is left and there is no place for it, one less, and the surplus goes home too. */
struct shelf {
    struct lock lock;
    _Atomic unsigned count;  /* written under the lock; read without, to see that there is nothing */
    _Atomic unsigned wanted; /* a guess: written without the lock */
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

static struct bundle unshelve(struct shelf *s, unsigned bin) {
    unsigned n = atomic_load_explicit(&s->count, memory_order_relaxed) - 1;
    struct bundle b = s->bundle[n];
    s->bytes -= b.count * run_bin_size(bin);
    atomic_store_explicit(&s->count, n, memory_order_relaxed);
    return b;
}

bool depot_take(unsigned bin, struct bundle *b) {
    struct shelf *s = &shelves[bin];
    if (atomic_load_explicit(&s->count, memory_order_relaxed) == 0) {
        unsigned wanted = atomic_load_explicit(&s->wanted, memory_order_relaxed);
        if (wanted < SHELF_BUNDLES)
            atomic_store_explicit(&s->wanted, wanted + 1, memory_order_relaxed);
        return false;
    }
    if (!lock_take(&s->lock))
        return false;
    bool found = atomic_load_explicit(&s->count, memory_order_relaxed) > 0;
    if (found)
        *b = unshelve(s, bin);
    lock_release(&s->lock);
    return found;
}

/* Puts b on the shelf, or leaves it and takes the surplus off.  Lock held. */
static void shelve_held(struct shelf *s, unsigned bin, struct bundle *b, struct bundle *surplus) {
    unsigned n = atomic_load_explicit(&s->count, memory_order_relaxed);
    unsigned wanted = atomic_load_explicit(&s->wanted, memory_order_relaxed);
    size_t bytes = b->count * run_bin_size(bin);
    if (n < wanted && n < SHELF_BUNDLES && s->bytes + bytes <= option(OPT_DEPOT_BYTES)) {
        s->bundle[n] = *b;
        s->bytes += bytes;
        atomic_store_explicit(&s->count, n + 1, memory_order_relaxed);
        *b = (struct bundle){0};
        return;
    }
    if (wanted > 0)
        atomic_store_explicit(&s->wanted, --wanted, memory_order_relaxed);
    if (n > wanted)
        *surplus = unshelve(s, bin);
}

void depot_leave(unsigned bin, struct bundle *b) {
    struct shelf *s = &shelves[bin];
    struct bundle surplus = {0};
    if (b->count == 0)
        return;
    gather_strays();
    if (option(OPT_DEPOT_BYTES) != 0 && lock_take(&s->lock)) {
        shelve_held(s, bin, b, &surplus);
        lock_release(&s->lock);
    }
    send_home(bin, b);
    send_home(bin, &surplus);
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

void depot_each_lock(void (*f)(struct lock *, void *), void *arg) {
    for (unsigned bin = 0; bin < RUN_BINS; bin++)
        f(&shelves[bin].lock, arg);
}
