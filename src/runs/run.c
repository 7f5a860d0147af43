#include "runs/run.h"

#include "guard/assert.h"
#include "guard/fatal.h"
#include "runs/space.h"

/* The runs of one size. */
struct run_bin {
    struct lock lock;
    _Atomic bool used;  /* `giving` is initialised; others look before they take the lock */
    struct link giving; /* runs with something to hand out, the one listed last first */
    size_t runs;        /* that have objects out */
    size_t out;         /* objects */
};

static struct run_bin run_bins[RUN_BINS] = {
    [0 ... RUN_BINS - 1] = {.lock = LOCK_INIT(RANK_RUN_BIN)},
};

static struct run *run_of_link(struct link *l) {
    return (struct run *)((char *)l - offsetof(struct run, link));
}

static bool has_fresh(const struct run *r) {
    return r->fresh + run_bin_size(r->bin) <= RUN_SIZE;
}

static void list_run(struct run_bin *rb, struct run *r) {
    list_insert_after(&rb->giving, &r->link);
    r->listed = true;
}

static void unlist_run(struct run *r) {
    list_remove(&r->link);
    r->listed = false;
}

/* Not more than a page of untouched memory is made into objects at a time, or a few objects where
   they are large: they are linked, and so touched, before anybody needs them. */
#define FRESH_STEP ((size_t)4096)
enum { FRESH_FEW = 4 };

static size_t fresh_allowed(size_t size) {
    return size_max(FRESH_STEP / size, FRESH_FEW);
}

/* From one run. */
static void take_from(struct run *r, size_t want, struct bundle *b) {
    while (b->count < want && r->returned != NULL) {
        struct cached *e = r->returned;
        r->returned = unmask_next(e);
        if (UNLIKELY(!ptr_is_aligned(r->returned, 16)))
            die(MSG_MALLOC_TCACHE_ALIGN, e, e->masked_next);
        r->returned_count--;
        r->out++;
        bundle_push(b, e);
    }
    size_t size = run_bin_size(r->bin);
    char *start = run_start(r);
    for (size_t n = fresh_allowed(size); n > 0 && b->count < want && has_fresh(r); n--) {
        struct cached *e = (struct cached *)(start + r->fresh);
        r->fresh += (uint32_t)size;
        r->out++;
        e->key = cached_key;
        bundle_push(b, e);
    }
}

bool runs_take(unsigned bin, size_t want, struct bundle *b) {
    struct run_bin *rb = &run_bins[bin];
    *b = (struct bundle){0};
    if (!lock_take(&rb->lock))
        return false;
    if (!rb->used) {
        list_init(&rb->giving);
        rb->used = true;
    }
    if (list_empty(&rb->giving)) {
        struct run *r = space_take(bin);
        if (r != NULL) {
            list_run(rb, r);
            rb->runs++;
        }
    }
    if (!list_empty(&rb->giving)) {
        struct run *r = run_of_link(rb->giving.next);
        take_from(r, want, b);
        rb->out += b->count;
        if (r->returned == NULL && !has_fresh(r))
            unlist_run(r);
    }
    lock_release(&rb->lock);
    return b->count > 0;
}

/* Lock of the run's bin held. */
static void give_one(struct run_bin *rb, struct cached *e) {
    struct run *r = run_of(e);
    mask_next(e, r->returned);
    r->returned = e;
    r->returned_count++;
    r->out--;
    rb->out--;
    if (r->out == 0) {
        if (r->listed)
            unlist_run(r);
        rb->runs--;
        space_give(r);
    } else if (!r->listed) {
        list_run(rb, r);
    }
}

bool runs_give(unsigned bin, struct bundle *b) {
    struct run_bin *rb = &run_bins[bin];
    struct bundle others = {0};
    if (!lock_take(&rb->lock))
        return false;
    for (struct cached *e = b->head; e != NULL;) {
        struct cached *next = unmask_next(e);
        if (UNLIKELY(!ptr_is_aligned(next, 16)))
            die(MSG_MALLOC_TCACHE_ALIGN, e, e->masked_next);
        if (in_run(e))
            give_one(rb, e);
        else
            bundle_push(&others, e);
        e = next;
    }
    lock_release(&rb->lock);
    *b = others;
    return true;
}

bool run_object_plausible(const void *mem) {
    const struct run_window *w = window_of(mem);
    unsigned bin = run_bin_of(mem);
    size_t offset = (uintptr_t)mem & (RUN_SIZE - 1);
    return bin < RUN_BINS && (const char *)mem >= (const char *)(w + 1) &&
           offset % run_bin_size(bin) == 0;
}

void runs_each_lock(void (*f)(struct lock *, void *), void *arg) {
    for (unsigned i = 0; i < RUN_BINS; i++)
        if (run_bins[i].used)
            f(&run_bins[i].lock, arg);
    f(&space_lock, arg);
}

/* ---- looking ---- */

static const char *check_run(const struct run *r, const struct run_window *w) {
    if (r->bin >= RUN_BINS || w->bin[r - w->run] != r->bin)
        return "a run's size differs from the window's map";
    size_t size = run_bin_size(r->bin);
    size_t seen = 0;
    for (const struct cached *e = r->returned; e != NULL; e = unmask_next(e)) {
        if (run_of(e) != r || ((uintptr_t)e & (RUN_SIZE - 1)) % size != 0)
            return "a returned object lies elsewhere";
        if (e->key != cached_key)
            return "a returned object was written to";
        if (++seen > r->returned_count)
            break;
    }
    if (seen != r->returned_count)
        return "a run has another number of returned objects than it counts";
    if (r->fresh % size != 0 || r->fresh > RUN_SIZE)
        return "a run's fresh part does not start at an object";
    if (r->out + r->returned_count != r->fresh / size)
        return "a run's objects do not add up";
    if (r->listed != (r->returned != NULL || has_fresh(r)))
        return "a run that can give is not listed, or the reverse";
    return NULL;
}

/* One size at a time: the runs of a bin are still while its lock is held. */
static const char *check_bin(unsigned bin, const void **where) {
    for (struct run_window *w = space_first_window(); w != NULL; w = space_next_window(w)) {
        for (unsigned i = FIRST_RUN; i < space_used_runs(w); i++) {
            struct run *r = &w->run[i];
            if (w->bin[i] != bin)
                continue;
            const char *wrong = check_run(r, w);
            if (wrong != NULL) {
                *where = run_start(r);
                return wrong;
            }
        }
    }
    return NULL;
}

const char *runs_check(const void **where) {
    const char *wrong = NULL;
    for (unsigned bin = 0; bin < RUN_BINS && wrong == NULL; bin++) {
        struct run_bin *rb = &run_bins[bin];
        if (!rb->used || !lock_take(&rb->lock))
            continue;
        if (lock_take(&space_lock)) {
            wrong = check_bin(bin, where);
            lock_release(&space_lock);
        }
        lock_release(&rb->lock);
    }
    return wrong;
}

void runs_count(struct runs_totals *t) {
    *t = (struct runs_totals){0};
    bool any = false;
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        struct run_bin *rb = &run_bins[bin];
        if (rb->used && lock_take(&rb->lock)) {
            any = true;
            t->used += rb->runs * RUN_SIZE;
            t->out += rb->out * run_bin_size(bin);
            lock_release(&rb->lock);
        }
    }
    if (any && lock_take(&space_lock)) {
        t->resident_free = space_resident_free();
        t->system = space_system();
        lock_release(&space_lock);
    }
}
