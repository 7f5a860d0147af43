#include "runs/run.h"

#include "guard/assert.h"
#include "guard/fatal.h"
#include "chunk/footprint.h"
#include "runs/check.h"
#include "runs/idle.h"
#include "runs/purge.h"
#include "runs/space.h"

/* Which list of its size a run is in: by how much of it is free. */
enum {
    FULLNESSES = 4, /* 0: less than a quarter is free; 3: three quarters or more */
    FULL = 255,     /* nothing is free: in no list */
};

/* The runs of one size. */
struct run_bin {
    _Alignas(64) struct lock lock; /* threads that use other sizes are not disturbed */
    _Atomic bool used; /* the lists are initialised; others look before they take the lock */
    struct link giving[FULLNESSES];
    struct idle_list idle;
    unsigned visits; /* of those who take and give */
    size_t runs;    /* that have objects out */
    size_t out;     /* objects */
    size_t size;    /* of an object */
    size_t objects; /* in a run */
    size_t quarter; /* of them, at least 1 */
};

static struct run_bin run_bins[RUN_BINS] = {
    [0 ... RUN_BINS - 1] = {.lock = LOCK_INIT(RANK_RUN_BIN)},
};

/* The bin that was last looked at for idle pages that nobody gave or took anything near. */
static _Atomic unsigned rover;
static _Atomic uint64_t roved_us;

static struct run *run_of_link(struct link *l) {
    return (struct run *)((char *)l - offsetof(struct run, link));
}

static size_t objects_of(unsigned bin) {
    return RUN_SIZE / run_bin_size(bin);
}

static void use(struct run_bin *rb, unsigned bin) {
    if (LIKELY(rb->used))
        return;
    rb->size = run_bin_size(bin);
    rb->objects = objects_of(bin);
    rb->quarter = size_max(rb->objects / FULLNESSES, 1);
    for (int i = 0; i < FULLNESSES; i++)
        list_init(&rb->giving[i]);
    list_init(&rb->idle.head);
    rb->used = true;
}

static unsigned fullness_of(const struct run_bin *rb, const struct run *r) {
    if (r->free_objects == 0)
        return FULL;
    unsigned fullness = 0;
    while (fullness < FULLNESSES - 1 && r->free_objects > (fullness + 1) * rb->quarter)
        fullness++;
    return fullness;
}

/* Puts r into the list that its free objects ask for. */
static void file_run(struct run_bin *rb, struct run *r) {
    unsigned fullness = fullness_of(rb, r);
    if (fullness == r->fullness)
        return;
    if (r->fullness != FULL)
        list_remove(&r->link);
    if (fullness != FULL)
        list_insert_after(&rb->giving[fullness], &r->link);
    r->fullness = (uint8_t)fullness;
}

/* ---- idle pages ---- */

/* Every millisecond or so, whoever comes by looks after another size, which may be quiet.  Asking for the time
   costs more than a small batch: not each visit does. */
static void rove(unsigned visit) {
    if (visit % 8 != 0)
        return;
    uint64_t now = os_recent_us();
    if (now == atomic_load_explicit(&roved_us, memory_order_relaxed))
        return;
    atomic_store_explicit(&roved_us, now, memory_order_relaxed);
    struct run_bin *rb = &run_bins[atomic_fetch_add_explicit(&rover, 1, memory_order_relaxed) % RUN_BINS];
    if (!rb->used || !lock_try(&rb->lock))
        return;
    (void)idle_purge(&rb->idle, 4, purge_wants_idle() ? PURGE_BEYOND_SHARE : PURGE_AGED);
    lock_release(&rb->lock);
}

/* ---- taking ---- */

static struct run *new_run(struct run_bin *rb, unsigned bin) {
    enum page_state state;
    char *start = space_take(bin < RUN_SMALL_BINS ? SPACE_SMALL : SPACE_LARGE, RUN_SIZE, RUN_SIZE, &state);
    if (start == NULL)
        return NULL;
    struct run *r = run_of(start);
    size_t objects = rb->objects;
    *r = (struct run){.bin = (uint8_t)bin, .free_objects = (uint16_t)objects, .fullness = FULL};
#define FREE(word, mask) *object_word(r, word) = (mask)
    BITS_EACH_WORD((size_t)0, objects, FREE)
#undef FREE
    struct run_window *w = window_of(r);
    w->slot[r - w->run] = (uint8_t)bin;
    idle_begin(&rb->idle, r, state == PAGES_RESIDENT);
    rb->runs++;
    file_run(rb, r);
    return r;
}

/* Writes objects below `out`, the lowest address lowest; returns where the last one went. */
static void **take_from(struct run_bin *rb, struct run *r, size_t want, void **out) {
    const size_t size = rb->size;
    char *start = run_start(r);
    size_t taken = 0;
    size_t first = 0;
    size_t last = 0;
    want = size_min(want, r->free_objects);
    for (size_t word = r->first_word; taken < want; word++) {
        uint64_t *map = object_word(r, word);
        uint64_t bits = *map;
        for (; bits != 0 && taken < want; bits &= bits - 1, taken++) {
            last = word * WORD_BITS + (size_t)__builtin_ctzll(bits);
            if (taken == 0)
                first = last;
            *--out = start + last * size;
        }
        *map = bits;
        r->first_word = (uint16_t)word;
    }
    r->free_objects = (uint16_t)(r->free_objects - taken);
    idle_before_take(&rb->idle, r, first * size, (last + 1) * size);
    return out;
}

static struct run *fullest(struct run_bin *rb) {
    for (int i = 0; i < FULLNESSES; i++)
        if (!list_empty(&rb->giving[i]))
            return run_of_link(rb->giving[i].next);
    return NULL;
}

/* Whether handing out `want` objects of r may make pages resident again that were given back. */
static bool may_refill(const struct run *r, size_t want) {
    if (LIKELY(r->gone == 0 || !footprint_is_watched()))
        return true;
    size_t gone = (size_t)__builtin_popcount(r->gone) * os_facts.page;
    return footprint_ask(size_min(gone, want * run_bin_size(r->bin) + 2 * os_facts.page));
}

/* The fullest run that can give without that; NULL: none. */
static struct run *fullest_resident(struct run_bin *rb) {
    for (int i = 0; i < FULLNESSES; i++)
        for (struct link *l = rb->giving[i].next; l != &rb->giving[i]; l = l->next)
            if (run_of_link(l)->gone == 0)
                return run_of_link(l);
    return NULL;
}

size_t runs_take(unsigned bin, void **out, size_t want) {
    struct run_bin *rb = &run_bins[bin];
    void **at = out + want;
    if (!lock_take(&rb->lock))
        return 0;
    use(rb, bin);
    while (at > out) {
        struct run *r = fullest(rb);
        if (r != NULL && UNLIKELY(!may_refill(r, (size_t)(at - out)))) {
            r = fullest_resident(rb);
            if (r == NULL)
                break;
        }
        if (r == NULL && (at < out + want || (r = new_run(rb, bin)) == NULL))
            break;
        at = take_from(rb, r, (size_t)(at - out), at);
        file_run(rb, r);
    }
    size_t took = (size_t)(out + want - at);
    rb->out += took;
    unsigned visit = rb->visits++;
    footprint_told();
    lock_release(&rb->lock);
    if (at > out)
        __builtin_memmove(out, at, took * sizeof *out);
    rove(visit);
    return took;
}

/* ---- giving ---- */

/* All objects of r are free. */
static void dissolve(struct run_bin *rb, struct run *r) {
    if (r->fullness != FULL)
        list_remove(&r->link);
    /* Where memory is promised, a page that is gone is still to be returned: by the purge of free pages. */
    uint16_t gone = os_facts.strict_commit ? 0 : r->gone;
    idle_forget(r);
    struct run_window *w = window_of(r);
    w->slot[r - w->run] = SLOT_PAGES;
    rb->runs--;
    space_give(run_start(r), RUN_SIZE, gone);
}

/* What comes back to one run, word by word of its bitmap: objects that were handed out together often come back
   together, and then a word is looked at once. */
struct giving {
    struct run *run;
    size_t size;
    size_t word;
    uint64_t bits;    /* of that word, to be set */
    size_t lowest;    /* word */
    unsigned pages;   /* that may have become idle */
};

/* Ends the process: one of the bits is set already. */
static COLD void refuse_twice(const struct giving *g, uint64_t twice) {
    size_t index = g->word * WORD_BITS + (size_t)__builtin_ctzll(twice);
    die(MSG_FREE_TCACHE_DOUBLE, run_start(g->run) + index * g->size, 0);
}

static HOT void give_word(struct giving *g) {
    uint64_t *map = object_word(g->run, g->word);
    if (UNLIKELY((*map & g->bits) != 0))
        refuse_twice(g, *map & g->bits);
    *map |= g->bits;
    g->lowest = size_min(g->lowest, g->word);
    size_t first = (g->word * WORD_BITS + (size_t)__builtin_ctzll(g->bits)) * g->size;
    size_t end = (g->word * WORD_BITS + WORD_BITS - (size_t)__builtin_clzll(g->bits)) * g->size;
    g->pages |= idle_pages_of(first, end - first);
}

/* The objects at the front of the n that lie in one run: what there is to do for a run is done once.
   Returns how many they were. */
static size_t give_to_run(struct run_bin *rb, unsigned bin, void *const *objects, size_t n) {
    struct run *r = run_of(objects[0]);
    /* It lay in a run of the bin when it was freed.  If that is gone, all its objects came home before, this one too. */
    if (UNLIKELY(run_bin_of(objects[0]) != bin))
        die(MSG_FREE_TCACHE_DOUBLE, objects[0], 0);
    const size_t count = rb->objects;
    struct giving g = {.run = r, .size = rb->size, .lowest = SIZE_MAX};
    size_t i = 0;
    for (; i < n && ((uintptr_t)objects[i] ^ (uintptr_t)objects[0]) < RUN_SIZE; i++) {
        size_t offset = (uintptr_t)objects[i] & (RUN_SIZE - 1);
        size_t index = run_object_index(bin, offset);
        if (UNLIKELY(index * g.size != offset || index >= count))
            die(MSG_FREE_POINTER, objects[i], 0);
        if (index / WORD_BITS != g.word) {
            if (g.bits != 0)
                give_word(&g);
            g.word = index / WORD_BITS;
            g.bits = 0;
        }
        uint64_t bit = (uint64_t)1 << index % WORD_BITS;
        if (UNLIKELY((g.bits & bit) != 0))
            refuse_twice(&g, bit);
        g.bits |= bit;
    }
    give_word(&g);
    rb->out -= i;
    r->first_word = (uint16_t)size_min(r->first_word, g.lowest);
    r->free_objects = (uint16_t)(r->free_objects + i);
    if (r->free_objects == count) {
        dissolve(rb, r);
    } else {
        idle_after_give(&rb->idle, r, g.pages);
        file_run(rb, r);
    }
    return i;
}

bool runs_give(unsigned bin, void *const *objects, size_t n) {
    struct run_bin *rb = &run_bins[bin];
    if (!lock_take(&rb->lock))
        return false;
    for (size_t i = 0; i < n;)
        i += give_to_run(rb, bin, objects + i, n - i);
    if (UNLIKELY(purge_wants_idle()))
        (void)idle_purge(&rb->idle, size_max(8, n / 2), PURGE_BEYOND_SHARE); /* more comes, more goes */
    unsigned visit = rb->visits++;
    lock_release(&rb->lock);
    purge_nudge_idle();
    rove(visit);
    return true;
}

bool run_object_plausible(const void *mem) {
    unsigned bin = run_bin_of(mem);
    size_t offset = (uintptr_t)mem & (RUN_SIZE - 1);
    size_t index = bin < RUN_BINS ? run_object_index(bin, offset) : 0;
    return bin < RUN_BINS && index * run_bin_size(bin) == offset && offset + run_bin_size(bin) <= RUN_SIZE;
}

bool run_object_is_free(const void *mem) {
    unsigned bin = run_bin_of(mem);
    struct run_bin *rb = &run_bins[bin];
    if (!lock_take(&rb->lock))
        return false;
    size_t index = run_object_index(bin, (uintptr_t)mem & (RUN_SIZE - 1));
    bool is_free = (*object_word(run_of(mem), index / WORD_BITS) >> index % WORD_BITS & 1) != 0;
    lock_release(&rb->lock);
    return is_free;
}

bool runs_purge_idle(void) {
    bool gave = false;
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        struct run_bin *rb = &run_bins[bin];
        if (!rb->used || !lock_take(&rb->lock))
            continue;
        gave |= idle_purge(&rb->idle, SIZE_MAX, PURGE_ALL);
        lock_release(&rb->lock);
    }
    return gave;
}

bool runs_purge_aged(void) {
    enum { AT_A_TIME = 64 };
    bool gave = false;
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        struct run_bin *rb = &run_bins[bin];
        bool went = rb->used;
        while (went && lock_take(&rb->lock)) {
            went = idle_purge(&rb->idle, AT_A_TIME, PURGE_AGED);
            gave |= went;
            lock_release(&rb->lock);
        }
    }
    return gave;
}

void runs_each_lock(void (*f)(struct lock *, void *), void *arg) {
    for (unsigned i = 0; i < RUN_BINS; i++)
        if (run_bins[i].used)
            f(&run_bins[i].lock, arg);
    f(&space_lock, arg);
}

/* ---- looking ---- */

static const char *check_run(const struct run_bin *rb, struct run *r) {
    if (run_count_free(r) != r->free_objects)
        return "a run has another number of free objects than it counts";
    if (r->free_objects == rb->objects)
        return "a run without objects was kept";
    if (r->fullness != fullness_of(rb, r))
        return "a run is in the wrong list";
    for (size_t word = 0; word < r->first_word; word++)
        if (*object_word(r, word) != 0)
            return "a run has free objects where none are looked for";
    if ((r->idle & r->gone) != 0)
        return "a page is idle and gone";
    for (size_t page = 0; page < whole_pages_in(RUN_SIZE); page++)
        if (idle_page(r, page) != (((r->idle | r->gone) >> page & 1) != 0))
            return "a run's idle pages are not those without an object";
    return NULL;
}

/* What the runs of one size add up to. */
struct sums {
    size_t runs;
    size_t out;
    size_t idle_runs;
    size_t giving[FULLNESSES];
};

/* Up to one more than `most`, whatever the list has become. */
static size_t length(const struct link *head, size_t most) {
    size_t n = 0;
    for (const struct link *l = head->next; l != head && n <= most; l = l->next)
        n++;
    return n;
}

static const char *check_sums(const struct run_bin *rb, const struct sums *s) {
    if (s->runs != rb->runs || s->out != rb->out)
        return "the runs of a size do not add up";
    if (!rb->used)
        return NULL;
    if (length(&rb->idle.head, s->runs) != s->idle_runs)
        return "the runs with idle pages are not those listed";
    for (unsigned i = 0; i < FULLNESSES; i++)
        if (length(&rb->giving[i], s->runs) != s->giving[i])
            return "the runs with free objects are not those listed";
    return NULL;
}

static const char *check_bin(unsigned bin, const void **where) {
    const struct run_bin *rb = &run_bins[bin];
    struct sums s = {0};
    for (int kind = 0; kind < SPACE_KINDS; kind++) {
        for (struct run_window *w = space_windows[kind].oldest; w != NULL; w = w->newer) {
            for (unsigned i = HEAD_RUNS; i < RUNS_A_WINDOW; i++) {
                struct run *r = &w->run[i];
                if (w->slot[i] != bin)
                    continue;
                *where = run_start(r);
                const char *wrong = check_run(rb, r);
                if (wrong != NULL)
                    return wrong;
                s.runs++;
                s.out += rb->objects - r->free_objects;
                s.idle_runs += r->idle != 0;
                if (r->fullness != FULL)
                    s.giving[r->fullness]++;
            }
        }
    }
    *where = NULL;
    return check_sums(rb, &s);
}

/* All locks, so that nothing moves: in order of their numbers.  Returns how many were to be had. */
static unsigned lock_all(void) {
    unsigned bin = 0;
    while (bin < RUN_BINS && lock_try(&run_bins[bin].lock))
        bin++;
    return bin;
}

const char *runs_check(const void **where) {
    const char *wrong = NULL;
    unsigned locked = lock_all();
    /* Others are at work: what can be said without them is said another time. */
    if (locked == RUN_BINS && lock_take(&space_lock)) {
        wrong = space_check(where);
        for (unsigned bin = 0; bin < RUN_BINS && wrong == NULL; bin++)
            wrong = check_bin(bin, where);
        lock_release(&space_lock);
    }
    while (locked > 0)
        lock_release(&run_bins[--locked].lock);
    return wrong;
}

void runs_count(struct runs_totals *t) {
    *t = (struct runs_totals){0};
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        struct run_bin *rb = &run_bins[bin];
        if (rb->used && lock_take(&rb->lock)) {
            t->used += rb->runs * RUN_SIZE;
            t->out += rb->out * run_bin_size(bin);
            lock_release(&rb->lock);
        }
    }
    t->idle = atomic_load_explicit(&runs_idle, memory_order_relaxed);
}

/* Others hold one of these locks at a time, so whoever takes several, in order, meets each of them once. */
static bool lock_patiently(struct lock *l) {
    enum { PATIENCE = 1000 };
    for (int i = 0; i < PATIENCE; i++) {
        if (lock_try(l))
            return true;
        os_yield();
    }
    return false;
}

bool runs_hold_still(void) {
    unsigned locked = 0;
    while (locked < RUN_BINS && lock_patiently(&run_bins[locked].lock))
        locked++;
    if (locked == RUN_BINS && lock_take(&space_lock))
        return true;
    while (locked > 0)
        lock_release(&run_bins[--locked].lock);
    return false;
}

void runs_let_go(void) {
    lock_release(&space_lock);
    for (unsigned bin = RUN_BINS; bin > 0; bin--)
        lock_release(&run_bins[bin - 1].lock);
}
