#include "cache/cpu_cache.h"

#include <stdatomic.h>
#include <string.h>

#include "base/counter.h"
#include "base/self.h"
#include "cache/depot.h"
#include "cache/steps.h"
#include "chunk/meta.h"
#include "guard/assert.h"
#include "options/options.h"
#include "os/os.h"
#include "runs/block.h"
#include "runs/run.h"

/* Never written to, but not const: a write would be a bug that a fault should show. */
static void *no_object = NULL;
struct cpu_cache no_cache = {
    .top = {[0 ... CACHE_BINS - 1] = &no_object},
    .lock = LOCK_INIT(RANK_CACHE),
};

struct hot hot = {.all = {&no_cache, &no_cache}};
struct cpu_cache *_Atomic cpu_caches;

/* The process's only thread has a seat, or will take one. */
_Atomic bool caches_are_alone = true;

static bool restartable;    /* libc has registered threads with the kernel... */
static ptrdiff_t libc_area; /* ... and this is where, from the thread pointer on */
static int cpu_numbers;     /* that there can be */

/* How many calls off the hot path lie between two looks at a bin that may be idle. */
enum { LOOK_EVERY = 32 };

/* A thread's seat has one part in so many of what a CPU has. */
enum { SEAT_SHARE = 16 };

/* The most that is exchanged at a time. */
enum { BATCH = 256 };

/* ---- who has which cache ---- */

#if RUNG_RESTARTABLE
extern char malloc_hit_first[] HIDDEN, malloc_hit_end[] HIDDEN, malloc_hit_aborted[] HIDDEN;
extern char free_hit_first[] HIDDEN, free_hit_end[] HIDDEN, free_hit_aborted[] HIDDEN;

static struct steps steps_of(const char *first, const char *end, const char *aborted) {
    return (struct steps){
        .start = (uintptr_t)first, .length = (uintptr_t)end - (uintptr_t)first, .abort = (uintptr_t)aborted};
}

static void describe_hits(void) {
    hot.pop = steps_of(malloc_hit_first, malloc_hit_end, malloc_hit_aborted);
    hot.push = steps_of(free_hit_first, free_hit_end, free_hit_aborted);
}
#else
static void describe_hits(void) {
}
#endif

static ptrdiff_t own_area(void) {
    return (char *)&self.area - thread_pointer();
}

void caches_begin(void) {
    atomic_store_explicit(&hot.area, own_area(), memory_order_relaxed);
    describe_hits();
    if (option(OPT_RUNS) != 0 && RUNG_RESTARTABLE && os_restartable(&libc_area)) {
        size_t numbers = os_cpu_numbers();
        restartable = numbers > 0 && numbers <= CACHES_MAX / 2; /* the hit does not ask whether there is a place */
        cpu_numbers = restartable ? (int)numbers : 0;
    }
}

void caches_switch_on(void) {
    static _Atomic bool begun;
    if (caches_are_on() || option(OPT_RUNS) == 0 || option(OPT_TCACHE_COUNT) == 0 || option(OPT_PERTURB) != 0 ||
        atomic_exchange_explicit(&begun, true, memory_order_acquire))
        return;
    for (int n = 0; n < cpu_numbers; n++)
        atomic_store_explicit(cache_place(n), &no_cache, memory_order_release);
    for (size_t req = 0; req <= RUN_SMALL_MAX; req++)
        hot.bin_of[req] = (uint8_t)run_bin_of_request(req);
    atomic_store_explicit(&hot.limit, RUN_SMALL_MAX + 1, memory_order_release);
}

static _Atomic uint64_t seats[CACHES_MAX / 2 / 64]; /* a bit is set while a thread has the seat */

static void free_seat(int number) {
    unsigned i = (unsigned)(CACHES_MAX - 1 - number);
    atomic_fetch_and_explicit(&seats[i / 64], ~((uint64_t)1 << i % 64), memory_order_release);
}

/* The highest number that nobody has; -1: there is none. */
static int take_seat(void) {
    for (unsigned word = 0; word < CACHES_MAX / 2 / 64; word++) {
        uint64_t taken = atomic_load_explicit(&seats[word], memory_order_relaxed);
        while (~taken != 0) {
            uint64_t mine = ~taken & (taken + 1);
            if (atomic_compare_exchange_weak_explicit(&seats[word], &taken, taken | mine, memory_order_acquire,
                                                      memory_order_relaxed))
                return CACHES_MAX - 1 - (int)(word * 64 + (unsigned)__builtin_ctzll(mine));
        }
    }
    return -1;
}

static struct cpu_cache *make_cache(int number, struct cpu_cache *none) {
    struct cpu_cache *c = meta_alloc(sizeof *c);
    if (c == NULL)
        return NULL;
    memcpy(c->top, no_cache.top, sizeof c->top);
    c->lock = (struct lock)LOCK_INIT(RANK_CACHE);
    c->number = number;
    if (!atomic_compare_exchange_strong_explicit(cache_place(number), &none, c, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        meta_free(c, sizeof *c); /* another thread on this CPU was faster */
        return none;
    }
    c->next = atomic_load_explicit(&cpu_caches, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&cpu_caches, &c->next, c, memory_order_release,
                                                  memory_order_relaxed)) {
    }
    counter_add(COUNT_TCACHES, 1);
    return c;
}

/* home: others shall not find them on the way either. */
static void leave(unsigned bin, void **objects, size_t n, bool home) {
    if (bin < RUN_BINS && home)
        depot_send_home(bin, objects, n);
    else if (bin < RUN_BINS)
        (void)depot_leave(bin, objects, n);
    else
        for (size_t i = 0; i < n; i++)
            block_give_marked(objects[i]);
}

/* Of a cache that nobody can come to. */
static void empty_alone(struct cpu_cache *c) {
    for (unsigned bin = 0; bin < CACHE_BINS; bin++) {
        size_t n = cache_count(c, bin);
        if (n > 0) {
            c->top[bin] = c->bin[bin].slots;
            leave(bin, c->bin[bin].slots + 1, n, true);
        }
    }
}

void caches_leave_seat(void) {
    int number = self.area.number;
    if (number < 0)
        return;
    self.area.number = -1;
    if (self.record != NULL)
        self.record->seat = -1;
    struct cpu_cache *c = cache_numbered(number);
    struct cpu_cache *none = &no_cache;
    int cpu = cache_number(); /* when there is more than seats, the cache becomes this CPU's */
    if (c != NULL && cpu >= 0) {
        c->number = cpu;
        if (atomic_compare_exchange_strong_explicit(cache_place(cpu), &none, c, memory_order_acq_rel,
                                                    memory_order_relaxed)) {
            atomic_store_explicit(cache_place(number), NULL, memory_order_release);
            free_seat(number);
            return;
        }
        c->number = number;
    }
    if (c != NULL)
        empty_alone(c); /* and whoever takes the seat next finds it */
    free_seat(number);
}

void caches_inherit_seat(int number) {
    if (number < 0)
        return;
    if (self.area.number < 0) {
        self.area.number = number;
        return;
    }
    if (cache_numbered(number) != NULL)
        empty_alone(cache_numbered(number));
    free_seat(number);
}

void caches_go_shared(void) {
    atomic_store_explicit(&caches_are_alone, false, memory_order_relaxed);
    if (restartable)
        atomic_store_explicit(&hot.area, libc_area, memory_order_relaxed);
}

/* The cache of this CPU, or of the calling thread.  NULL: it has none. */
static struct cpu_cache *cache_here(void) {
    if (!caches_are_on())
        return NULL;
    caches_look_around();
    int number = cache_number();
    if (atomic_load_explicit(&hot.area, memory_order_relaxed) == own_area()) {
        if (number < 0) {
            number = take_seat();
            if (number < 0)
                return NULL;
            if (cache_numbered(number) == NULL && make_cache(number, NULL) == NULL) {
                free_seat(number);
                return NULL;
            }
            self.area.number = number;
            if (self.record != NULL)
                self.record->seat = number;
        }
    } else {
        caches_leave_seat();
        if (number < 0 || number >= cpu_numbers)
            return NULL;
    }
    struct cpu_cache *c = cache_numbered(number);
    return c != &no_cache ? c : make_cache(number, c);
}

/* ---- how deep ---- */

size_t cache_bin_size(unsigned bin) {
    if (bin < RUN_BINS)
        return run_bin_size(bin);
    return bin < CACHE_BLOCKS ? 0 : block_bin_size(bin - CACHE_BLOCKS); /* 0: no size's, always empty */
}

/* At most 1023 objects, so that with the NULL below them they are a round number, and 128 KiB; of blocks, 1
   MiB. */
static size_t cap_max(unsigned bin) {
    size_t bytes = bin < RUN_BINS ? 128 * KIB : MIB;
    size_t n = size_min(size_min(bytes / cache_bin_size(bin), 1023), option(OPT_TCACHE_DEPTH_MAX));
    return size_max(n, 1);
}

static size_t budget_of(const struct cpu_cache *c) {
    bool seat = c->number >= CACHES_MAX / 2;
    return option(OPT_TCACHE_BUDGET) / (seat && !atomic_load_explicit(&caches_are_alone, memory_order_relaxed) ? SEAT_SHARE : 1);
}

static bool can_afford(const struct cpu_cache *c, unsigned bin, size_t more) {
    return c->spent[bin >= CACHE_BLOCKS] + more * cache_bin_size(bin) <= budget_of(c);
}

static void note_cap(struct cpu_cache *c, unsigned bin, size_t cap) {
    size_t *spent = &c->spent[bin >= CACHE_BLOCKS];
    *spent += cap * cache_bin_size(bin);
    *spent -= c->bin[bin].cap * cache_bin_size(bin);
    c->bin[bin].cap = (uint16_t)cap;
}

/* Everything in the bin goes to the end of slots[1..length]; returns how much it was.  *whole: the caller was on
   the CPU all the time, and the bin is empty. */
static size_t move_out(struct cpu_cache *c, unsigned bin, void **slots, size_t length, bool *whole) {
    size_t n = 0;
    void *mem = NULL;
    while (n < length && (mem = steps_pop_of(c->number, bin)) != NULL && mem != STEPS_ELSEWHERE)
        slots[length - n++] = mem;
    *whole = mem == NULL;
    return n;
}

/* Room for `cap` objects: full moves, or with more slots than there were the objects do.  False: it is as it was, but
   what lay in the bin may be gone, if the caller lost the CPU. */
static bool make_deeper(struct cpu_cache *c, unsigned bin, size_t cap) {
    struct cpu_bin *b = &c->bin[bin];
    if (cap < b->length)
        return steps_store_of(c->number, &c->full[bin], (void **)(b->slots + cap));
    size_t length = size_max(cap + 1, 8);
    void **slots = meta_alloc_dirty(length * sizeof *slots);
    if (slots == NULL)
        return false;
    slots[0] = NULL;
    bool whole = false;
    size_t n = 0;
    if (steps_store_of(c->number, &c->full[bin], NULL)) {
        n = move_out(c, bin, slots, length - 1, &whole);
        memmove(slots + 1, slots + length - n, n * sizeof *slots);
    }
    if (!whole || !steps_store_of(c->number, &c->top[bin], slots + n)) {
        leave(bin, slots + 1, n, false);
        meta_free(slots, length * sizeof *slots);
        return false;
    }
    if (b->slots != NULL)
        meta_free(b->slots, b->length * sizeof *slots);
    b->slots = slots;
    b->length = (uint16_t)length;
    return steps_store_of(c->number, &c->full[bin], slots + cap);
}

/* Of what lies in the bin, all but `stay`; the newest go. */
static void thin_out(struct cpu_cache *c, unsigned bin, size_t stay, bool home) {
    void *some[BATCH];
    size_t n;
    do {
        void *mem = NULL;
        for (n = 0; n < BATCH && cache_count(c, bin) > stay; n++) {
            mem = steps_pop_of(c->number, bin);
            if (mem == NULL || mem == STEPS_ELSEWHERE)
                break;
            some[n] = mem;
        }
        leave(bin, some, n, home);
    } while (n == BATCH);
}

/* A bin that was neither empty nor full for a whole round of the hand holds more than is needed. */
static void look_at_next(struct cpu_cache *c) {
    unsigned bin = c->hand;
    c->hand = (bin + 1) % CACHE_BINS;
    struct cpu_bin *b = &c->bin[bin];
    bool missed = b->missed;
    b->missed = false;
    if (b->cap == 0 || missed)
        return;
    size_t cap = b->cap / 2;
    if (!steps_store_of(c->number, &c->full[bin], b->slots + cap))
        return;
    note_cap(c, bin, cap);
    thin_out(c, bin, cap, true);
}

/* The bin was empty, or full. */
static void deepen(struct cpu_cache *c, unsigned bin) {
    enum { LOOKS = 4 };
    struct cpu_bin *b = &c->bin[bin];
    b->missed = true;
    if (c->full[bin] != b->slots + b->cap) /* who exchanged the slots lost the CPU */
        (void)steps_store_of(c->number, &c->full[bin], b->slots + b->cap);
    size_t deeper = size_min(b->cap * 2 + (size_t)1, cap_max(bin));
    if (deeper == b->cap)
        return;
    for (int i = 0; i < LOOKS && !can_afford(c, bin, deeper - b->cap); i++)
        look_at_next(c);
    if (can_afford(c, bin, deeper - b->cap) && make_deeper(c, bin, deeper))
        note_cap(c, bin, deeper);
}

/* ---- what was asked of all ---- */

static _Atomic unsigned empty_round;

static void empty_this(struct cpu_cache *c) {
    for (unsigned bin = 0; bin < CACHE_BINS; bin++)
        thin_out(c, bin, 0, true);
}

void caches_ask_to_empty(void) {
    atomic_fetch_add_explicit(&empty_round, 1, memory_order_relaxed);
}

void caches_empty_here(void) {
    struct cpu_cache *c = cache_here();
    if (c == NULL || !lock_try(&c->lock))
        return;
    c->round = atomic_load_explicit(&empty_round, memory_order_relaxed);
    empty_this(c);
    lock_release(&c->lock);
}

bool caches_age(void) {
    bool left = false;
    bool ask = false;
    struct cpu_cache *here = cache_here();
    struct cpu_cache *c = atomic_load_explicit(&cpu_caches, memory_order_acquire);
    for (; c != NULL; c = c->next) {
        unsigned visits = atomic_load_explicit(&c->visits, memory_order_relaxed);
        if (visits != c->aged_visits) {
            left = true;
            c->asked = false;
        } else if (c == here) {
            caches_empty_here();
        } else {
            ask |= !c->asked;
            c->asked = true;
        }
        c->aged_visits = visits;
    }
    if (ask)
        caches_ask_to_empty();
    return left;
}

/* ---- taking and putting ---- */

/* Enters for a look off the hot path.  False: another thread on this CPU is at it, and that is enough. */
static bool visit(struct cpu_cache *c) {
    if (!lock_try(&c->lock))
        return false;
    unsigned visits = atomic_load_explicit(&c->visits, memory_order_relaxed) + 1;
    atomic_store_explicit(&c->visits, visits, memory_order_relaxed);
    unsigned round = atomic_load_explicit(&empty_round, memory_order_relaxed);
    if (UNLIKELY(round != c->round)) {
        c->round = round;
        empty_this(c);
    }
    if (visits % LOOK_EVERY == 0)
        look_at_next(c);
    return true;
}

void *cache_take(unsigned bin) {
    void *some[BATCH];
    void *mem = steps_pop(bin);
    if (mem != NULL)
        return mem;
    struct cpu_cache *c = cache_here();
    size_t want = 1;
    if (LIKELY(c != NULL) && LIKELY(visit(c))) {
        deepen(c, bin);
        want = size_min((c->bin[bin].cap + (size_t)1) / 2, BATCH);
        want = size_max(want, 1);
        lock_release(&c->lock);
    }
    size_t n = depot_take(bin, some, want);
    if (n == 0)
        n = runs_take(bin, some, want);
    if (UNLIKELY(n == 0))
        return NULL;
    for (size_t i = 0; i + 1 < n; i++)
        if (UNLIKELY(!steps_push(bin, some[i]))) { /* on another CPU by now */
            leave(bin, some + i, n - 1 - i, false);
            break;
        }
    return some[n - 1];
}

void cache_put(unsigned bin, void *mem) {
    if (steps_push(bin, mem))
        return;
    struct cpu_cache *c = cache_here();
    if (LIKELY(c != NULL) && LIKELY(visit(c))) {
        size_t before = c->bin[bin].cap;
        deepen(c, bin);
        if (c->bin[bin].cap == before)
            thin_out(c, bin, before / 2, false);
        lock_release(&c->lock);
    }
    if (!steps_push(bin, mem))
        leave(bin, &mem, 1, false);
}

bool cache_has_on_top(unsigned bin, const void *mem) {
    void *newest = steps_pop(bin);
    if (newest == NULL || newest == mem)
        return newest == mem;
    if (!steps_push(bin, newest))
        leave(bin, &newest, 1, false);
    return false;
}

/* ---- blocks: nothing is written in them ---- */

void *cache_take_block(unsigned bin) {
    void *mem = steps_pop(CACHE_BLOCKS + bin);
    if (mem != NULL) {
        block_unmark(mem);
        return mem;
    }
    struct cpu_cache *c = cache_here();
    if (c != NULL && visit(c)) {
        deepen(c, CACHE_BLOCKS + bin);
        lock_release(&c->lock);
    }
    return NULL;
}

void cache_put_block(unsigned bin, void *mem) {
    cache_put(CACHE_BLOCKS + bin, mem);
}

/* ---- looking ---- */

size_t cache_bytes(const struct cpu_cache *c) {
    size_t bytes = 0;
    for (unsigned bin = 0; bin < CACHE_BINS; bin++)
        bytes += cache_count(c, bin) * cache_bin_size(bin);
    return bytes;
}

void caches_each_lock(void (*f)(struct lock *, void *), void *arg) {
    struct cpu_cache *c = atomic_load_explicit(&cpu_caches, memory_order_acquire);
    for (; c != NULL; c = c->next)
        f(&c->lock, arg);
}
