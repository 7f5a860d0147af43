#include "arena/arenas.h"

#include "arena/heap.h"
#include "arena/pages.h"
#include "arena/top.h"
#include "arena/waiting.h"
#include "base/counter.h"
#include "chunk/meta.h"
#include "guard/assert.h"
#include "options/options.h"
#include "os/os.h"

struct arena main_arena = {
    .lock = LOCK_INIT(RANK_ARENA),
    .main = true,
    .contiguous = true,
    .next = &main_arena,
};

struct lock arenas_lock = LOCK_INIT(RANK_ARENAS);

/* Guarded by arenas_lock. */
static unsigned arena_count = 1;
static struct arena *newest = &main_arena; /* the ring's last */
static struct arena *parked_first; /* the one parked last: its memory is the warmest */

/* Where the next sharing thread looks first.  Raced on deliberately: a wrong value costs a slightly
   worse choice. */
static struct arena *_Atomic rotation = &main_arena;

void arenas_init(void) {
    bins_init(&main_arena.bins);
    pages_init(&main_arena);
    counter_add(COUNT_ARENAS, 1);
    atomic_store_explicit(&main_arena.threads, 1, memory_order_relaxed);
    self.arena = &main_arena;
    if (option(OPT_ARENA_ON_DEMAND) != 0)
        os_read_usable_cpus();
}

/* ---- the list; its lock held ---- */

static void park(struct arena *a) {
    a->parked = true;
    a->next_parked = parked_first;
    parked_first = a;
}

static struct arena *unpark(void) {
    struct arena *a = parked_first;
    if (a != NULL) {
        parked_first = a->next_parked;
        a->parked = false;
    }
    return a;
}

/* Row N1: with as many arenas as CPUs, threads that outnumber both meet too often (measured: 1.6 times the time
   of an arena each, where twice as many take 1.1).  On a single CPU one that waits runs into a thread that
   was taken off it inside, which is rare. */
enum { ARENAS_A_CPU = 2 };

/* Rows C2 and N1: how many arenas there may be, the main one included. */
static unsigned arena_cap(void) {
    size_t max = option(OPT_ARENA_MAX);
    if (max != 0)
        return max < UINT32_MAX ? (unsigned)max : UINT32_MAX;
    if (option(OPT_ARENA_ON_DEMAND) != 0)
        return os_facts.usable_cpus > 1 ? ARENAS_A_CPU * os_facts.usable_cpus : 1;
    return arena_count <= option(OPT_ARENA_TEST) ? UINT32_MAX : 8 * os_facts.cpus;
}

static struct arena *create(void) {
    struct arena *a = meta_alloc(sizeof *a);
    if (a == NULL)
        return NULL;
    struct heap *h = heap_create(a, FIRST_HEAP_LEAD, MIN_CHUNK, option(OPT_TOP_PAD));
    if (h == NULL) /* the pad may be too much for what is left */
        h = heap_create(a, FIRST_HEAP_LEAD, MIN_CHUNK, 0);
    if (h == NULL) {
        meta_free(a, sizeof *a);
        return NULL;
    }
    a->lock = (struct lock)LOCK_INIT(RANK_ARENA);
    bins_init(&a->bins);
    pages_init(a);
    arena_grew(a, h->size);
    struct chunk *first = heap_first_chunk(h);
    top_set(a, first, (size_t)((char *)h + h->size - (char *)first));
    a->dirty_end = a->top_touched = (char *)first + HEADER;
    a->number = arena_count++;
    counter_add(COUNT_ARENAS, 1);
    atomic_store_explicit(&a->next, &main_arena, memory_order_relaxed);
    atomic_store_explicit(&newest->next, a, memory_order_release);
    newest = a;
    return a;
}

static void bind(struct arena *a) {
    atomic_fetch_add_explicit(&a->threads, 1, memory_order_relaxed);
    self.arena = a;
    if (self.record != NULL) {
        self.record->arena = a;
        self.record->waiting = (struct waiting){0};
    }
}

/* One thread less is bound to a. */
static void leave(struct arena *a) {
    if (atomic_fetch_sub_explicit(&a->threads, 1, memory_order_relaxed) == 1 && !a->parked)
        park(a);
}

void arenas_park_left(void) {
    struct arena *a = &main_arena;
    do {
        if (!a->parked && !a->abandoned &&
            atomic_load_explicit(&a->threads, memory_order_relaxed) == 0)
            park(a);
        a = arena_next(a);
    } while (a != &main_arena);
}

void arenas_forget_threads(void) {
    struct arena *a = &main_arena;
    if (self.arena != NULL && self.arena->abandoned) {
        self.arena = NULL;
        if (self.record != NULL)
            self.record->arena = NULL;
    }
    parked_first = NULL;
    do {
        a->parked = false;
        atomic_store_explicit(&a->threads, a == self.arena, memory_order_relaxed);
        a = arena_next(a);
    } while (a != &main_arena);
    arenas_park_left();
}

/* ---- binding ---- */

/* At the cap: the first arena in rotation whose lock is free, else the next in rotation, for whose
   lock we wait.  Entered; NULL when that lock is not to be had. */
static struct arena *enter_shared(const struct arena *avoid) {
    struct arena *start = atomic_load_explicit(&rotation, memory_order_relaxed);
    struct arena *a = start;
    do {
        if (a != avoid && lock_try(&a->lock))
            goto entered;
        a = arena_next(a);
    } while (a != start);
    if (a == avoid)
        a = arena_next(a);
    if (!lock_take(&a->lock))
        return NULL;
entered:
    if (atomic_load_explicit(&a->inbox, memory_order_relaxed) != NULL)
        arena_empty_inbox(a);
    atomic_store_explicit(&rotation, arena_next(a), memory_order_relaxed);
    return a;
}

/* Row N1: an arena that nobody has found busy yet is good enough for one thread more.  NULL: a fork has left
   this process none that can be used. */
static struct arena *least_shared(void) {
    struct arena *least = NULL, *a = &main_arena;
    unsigned fewest = UINT32_MAX;
    do {
        unsigned threads = atomic_load_explicit(&a->threads, memory_order_relaxed);
        if (!a->abandoned && threads < fewest) {
            fewest = threads;
            least = a;
        }
        a = arena_next(a);
    } while (a != &main_arena);
    return least;
}

/* Binds the calling thread to a parked arena, or a new one, or on demand to the least shared; false: it
   has to take what enter_shared() finds. */
static bool bind_by_list(void) {
    if (!lock_take(&arenas_lock))
        return false;
    const bool on_demand = option(OPT_ARENA_ON_DEMAND) != 0;
    struct arena *a = unpark();
    if (a == NULL && on_demand)
        a = least_shared();
    if (a == NULL && (on_demand || arena_count < arena_cap()))
        a = create();
    if (a != NULL)
        bind(a);
    lock_release(&arenas_lock);
    return a != NULL;
}

SLOW struct arena *arena_bind_and_enter(void) {
    if (self.stage == THREAD_GONE)
        return enter_shared(NULL); /* its exit has been noticed already: it must not be counted */
    if (bind_by_list())
        return arena_enter(self.arena) ? self.arena : NULL;
    struct arena *a = enter_shared(NULL);
    if (a != NULL)
        bind(a); /* should it be parked at this moment, one more thread will inherit it */
    return a;
}

/* Row N1: another arena for the calling thread, which has waited enough for `own`: a parked one, or the one
   it watched if that is quiet, or a new one once all have been watched.  Bound, not entered; or `own` for
   now, and it watches the next one. */
static struct arena *move_from(struct arena *own, struct waiting *w) {
    w->enough = false;
    if (!lock_try(&arenas_lock)) /* somebody else is moving, which may be all it takes */
        return own;
    struct arena *next = arena_next(w->watched != NULL ? w->watched : own);
    bool seen_all = next == own;
    struct arena *to = unpark();
    if (to == NULL && w->quiet)
        to = w->watched;
    if (to == NULL && seen_all && arena_count < arena_cap())
        to = create();
    if (to == NULL || to == own) {
        w->watched = seen_all ? arena_next(own) : next;
        to = own;
    } else {
        leave(own);
        bind(to);
        counter_add(COUNT_ARENA_MOVES, 1);
    }
    lock_release(&arenas_lock);
    return to;
}

SLOW struct arena *arena_enter_contended(struct arena *a) {
    struct waiting *w = self.record != NULL ? &self.record->waiting : NULL;
    if (option(OPT_ARENA_ON_DEMAND) == 0 || w == NULL)
        return arena_enter(a) ? a : NULL;
    if (w->enough) {
        struct arena *to = move_from(a, w);
        if (to != a)
            return arena_enter(to) ? to : NULL;
    }
    uint64_t now = waiting_wants_clock(w) ? os_clock_us() : 0;
    bool other_taken = w->watched != NULL && lock_looks_taken(&w->watched->lock);
    if (!lock_take_contended(&a->lock))
        return NULL;
    waiting_note(w, a, other_taken, now);
    if (atomic_load_explicit(&a->inbox, memory_order_relaxed) != NULL)
        arena_empty_inbox(a);
    return a;
}

struct arena *arena_enter_other(struct arena *failed) {
    arena_leave(failed);
    if (failed != &main_arena)
        return arena_enter(&main_arena) ? &main_arena : NULL;
    struct arena *a = NULL;
    if (lock_take(&arenas_lock)) {
        /* Not bound: the thread stays where it is and comes back here if it has to. */
        if (arena_next(&main_arena) == &main_arena && arena_count < arena_cap())
            a = create();
        if (a != NULL)
            park(a);
        lock_release(&arenas_lock);
    }
    if (a == NULL)
        a = enter_shared(&main_arena);
    else if (!arena_enter(a))
        a = NULL;
    if (a == &main_arena) {
        arena_leave(a);
        a = NULL;
    }
    return a;
}

void arena_unbind(void) {
    struct arena *a = self.arena;
    if (a == NULL)
        return;
    self.arena = NULL;
    if (self.record != NULL)
        self.record->arena = NULL;
    if (atomic_fetch_sub_explicit(&a->threads, 1, memory_order_relaxed) != 1)
        return;
    /* When the list's lock is not to be had, a fork is under way and arenas_park_left() follows. */
    if (lock_take(&arenas_lock)) {
        if (!a->parked && atomic_load_explicit(&a->threads, memory_order_relaxed) == 0)
            park(a);
        lock_release(&arenas_lock);
    }
}
