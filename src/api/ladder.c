#include "api/ladder.h"

#include "api/names.h"

#include <errno.h>
#include <string.h>

#include "arena/align.h"
#include "arena/allocate.h"
#include "arena/arenas.h"
#include "arena/mapped.h"
#include "cache/cpu_cache.h"
#include "cache/depot.h"
#include "cache/hand_back.h"
#include "cache/tcache.h"
#include "chunk/footprint.h"
#include "life/attend.h"
#include "life/start.h"
#include "life/thread.h"
#include "options/options.h"
#include "reclaim/trim.h"
#include "runs/block.h"
#include "runs/run.h"

/* The calling thread becomes known, and gets its cache.  errno survives: this is part of free too. */
static COLD void settle_in_slow(void) {
    int saved = errno;
    start();
    thread_settle();
    errno = saved;
}

static HOT void settle_in(void) {
    if (UNLIKELY(tcache_is_inactive(self.tcache)))
        settle_in_slow();
}

/* ---- up ---- */

/* Rungs 4 and 5, and 6 when those fail. */
static struct chunk *from_arenas(struct order *o) {
    struct arena *a = arena_enter_own();
    if (a == NULL)
        return alloc_without_arena(o);
    struct chunk *c = arena_alloc(a, o);
    if (UNLIKELY(c == NULL)) {
        a = arena_enter_other(a);
        c = a != NULL ? arena_alloc(a, o) : alloc_without_arena(o);
    }
    if (a != NULL)
        arena_leave(a);
    return c;
}

/* The large bins of the cache, for whoever has raised tcache_max. */
static COLD struct chunk *from_large_cache(struct order *o) {
    size_t bin = tcache_bin(o->csz);
    void *mem = bin < TCACHE_BINS ? tcache_pop_large(self.tcache, bin, o->csz) : NULL;
    if (mem == NULL)
        return NULL;
    struct chunk *c = chunk_of_mem(mem);
    o->zero_from = (char *)chunk_next(c) + OVERHEAD;
    return c;
}

static COLD void fill_for_debugging(void *mem) {
    memset(mem, (int)(~option(OPT_PERTURB) & 0xff), block_usable(mem));
}

/* Rungs 2 and 3.  NULL: not a size for them, or they have nothing. */
static SLOW void *from_runs_slow(size_t req) {
    unsigned bin = run_bin_of_request(req);
    if (LIKELY(caches_are_on()))
        return cache_take(bin);
    void *mem;
    return runs_take(bin, &mem, 1) == 1 ? mem : NULL;
}

/* Of the windows' whole pages. */
static SLOW void *from_pages(size_t req, size_t align, bool *zero) {
    if (req > option(OPT_RUN_BLOCK_MAX))
        return NULL;
    if (req > RUN_MAX && req <= BLOCK_BIN_MAX && align <= os_facts.page) {
        unsigned bin = block_bin_of_request(align_up(req, os_facts.page)); /* what it will come back as */
        void *mem = caches_are_on() ? cache_take_block(bin) : NULL;
        if (mem != NULL)
            return mem;
        req = block_bin_size(bin);
    }
    return block_take(req, align, zero);
}

static HOT void *from_runs(size_t req, bool *zero) {
    *zero = false;
    if (option(OPT_RUNS) == 0)
        return NULL;
    return req <= RUN_MAX ? from_runs_slow(req) : from_pages(req, ALIGNMENT, zero);
}

/* Rungs 4 to 6 for a chunk of a linear bin: its siblings go to the cache.  Of arena `a`, whose lock is held;
   NULL: of the thread's. */
static struct chunk *small_chunk(struct arena *a, struct order *o) {
    struct tcache *t = self.tcache;
    size_t bin = tcache_bin_of_head(o->csz);
    struct batch fill = {.room = t->room[bin]};
    o->fill = &fill;
    struct chunk *c = a != NULL ? arena_alloc(a, o) : from_arenas(o);
    if (fill.last != NULL)
        tcache_accept(t, bin, &fill);
    o->fill = NULL;
    return c;
}

struct chunk *climb_in_arena(struct arena *a, size_t csz) {
    struct order o = {.csz = csz};
    struct chunk *c = csz <= TCACHE_SMALL_MAX ? small_chunk(a, &o) : arena_alloc(a, &o);
    if (c != NULL && UNLIKELY(option(OPT_PERTURB) != 0))
        fill_for_debugging(mem_of_chunk(c));
    return c;
}

static struct chunk *chunk_for(struct order *o) {
    if (LIKELY(o->csz <= TCACHE_SMALL_MAX))
        return small_chunk(NULL, o);
    if (UNLIKELY(option(OPT_TCACHE_MAX) > TCACHE_SMALL_MAX)) {
        struct chunk *c = from_large_cache(o);
        if (c != NULL)
            return c;
    }
    return from_arenas(o);
}

COLD bool make_room(void) {
    bool refused = (self.due & DUE_REFUSED) != 0;
    self.due &= (uint8_t)~DUE_REFUSED;
    return (refused || option(OPT_RUNS) != 0) && trim_everything(0);
}

/* So large a request is asked about before anything is tried: no program can have many such blocks, and who asks
   for half the address space by mistake shall have its no at once. */
#define ASK_FROM ((size_t)1 << 40)

/* Beyond any doubt. */
static HOT bool is_absurd(size_t req) {
    return UNLIKELY(req >= ASK_FROM) && (req > REQUEST_MAX - HEADER || !footprint_could_serve(req));
}

/* Once more, after what was free has gone, if that can help.  align 0: any. */
static COLD void *climb_again(size_t align, size_t req, char **zero_from) {
    void *mem = NULL;
    if ((self.due & DUE_AGAIN) == 0 && footprint_could_serve(req + align) && make_room()) {
        self.due |= DUE_AGAIN;
        mem = align != 0 ? climb_aligned(align, req) : climb(req, zero_from);
        self.due &= (uint8_t)~DUE_AGAIN;
    }
    if (mem == NULL)
        errno = ENOMEM;
    attend();
    return mem;
}

WHOLE void *climb(size_t req, char **zero_from) {
    settle_in();
    if (is_absurd(req)) {
        errno = ENOMEM;
        return NULL;
    }
    bool zero;
    void *mem = from_runs(req, &zero);
    struct order o = {.csz = chunk_size_of_request(req), .want_zero = zero_from != NULL};
    if (mem != NULL) {
        o.zero_from = zero ? mem : (char *)mem + headless_size(mem);
    } else {
        struct chunk *c = chunk_for(&o);
        if (UNLIKELY(c == NULL))
            return climb_again(0, req, zero_from);
        mem = mem_of_chunk(c);
    }
    if (UNLIKELY(option(OPT_PERTURB) != 0)) {
        fill_for_debugging(mem);
        o.zero_from = (char *)mem + block_usable(mem);
    }
    if (zero_from != NULL)
        *zero_from = o.zero_from;
    attend();
    return mem;
}

/* Objects of a run are as aligned as their size is, for sizes that are multiples of the alignment; but
   for little in a large alignment a page costs less. */
static void *aligned_from_runs(size_t align, size_t req) {
    bool zero;
    if (option(OPT_RUNS) == 0)
        return NULL;
    size_t whole = align_up(size_max(req, 1), align);
    return whole <= RUN_MAX && align <= os_facts.page ? from_runs_slow(whole) : from_pages(req, align, &zero);
}

static struct chunk *aligned_from_arenas(size_t align, size_t csz) {
    struct arena *a = arena_enter_own();
    struct chunk *c = NULL;
    if (a != NULL && (c = arena_alloc_aligned(a, align, csz)) == NULL &&
        (a = arena_enter_other(a)) != NULL)
        c = arena_alloc_aligned(a, align, csz);
    if (a != NULL)
        arena_leave(a);
    return c != NULL ? c : mapped_alloc(csz, align);
}

void *climb_aligned(size_t align, size_t req) {
    settle_in();
    size_t both;
    if (UNLIKELY(__builtin_add_overflow(req, align, &both)) || is_absurd(both)) {
        errno = ENOMEM;
        return NULL;
    }
    size_t csz = chunk_size_of_request(req);
    void *mem = tcache_pop_aligned(self.tcache, csz, align);
    if (mem != NULL)
        return mem;
    mem = aligned_from_runs(align, req);
    if (mem == NULL) {
        struct chunk *c = aligned_from_arenas(align, csz);
        if (UNLIKELY(c == NULL))
            return climb_again(align, req, NULL);
        mem = mem_of_chunk(c);
    }
    if (UNLIKELY(option(OPT_PERTURB) != 0))
        fill_for_debugging(mem);
    attend();
    return mem;
}

size_t block_usable(const void *mem) {
    return in_run_window(mem) ? headless_size(mem) : usable_of_chunk_size(chunk_size(chunk_of_mem(mem)));
}

/* ---- down ---- */

static COLD void clear_for_debugging(void *mem) {
    memset(mem, (int)option(OPT_PERTURB), block_usable(mem));
}

static SLOW void free_object(void *mem, unsigned bin) {
    if (UNLIKELY(!run_object_plausible(mem)))
        die(MSG_FREE_POINTER, mem, 0);
    if (LIKELY(caches_are_on())) {
        if (UNLIKELY(cache_has_on_top(bin, mem)))
            die(MSG_FREE_TCACHE_DOUBLE, mem, 0);
        cache_put(bin, mem);
        return;
    }
    if (UNLIKELY(option(OPT_PERTURB) != 0))
        clear_for_debugging(mem);
    depot_leave(bin, &mem, 1);
}

/* Into the thread's cache, when it is of a size that is kept there; false: it is not, or no block. */
static bool block_to_cache(void *mem, size_t size) {
    if (size <= RUN_MAX || size > BLOCK_BIN_MAX || !caches_are_on())
        return false;
    unsigned bin = block_bin_of_request(size);
    if (block_bin_size(bin) != size || !block_mark(mem))
        return false;
    cache_put_block(bin, mem);
    return true;
}

static SLOW void free_block(void *mem) {
    size_t size = block_size(mem);
    if (UNLIKELY(option(OPT_PERTURB) != 0) && size != 0)
        clear_for_debugging(mem);
    if (!block_to_cache(mem, size) && UNLIKELY(!block_give(mem)))
        die(headless_is_free(mem) ? MSG_FREE_TCACHE_DOUBLE : MSG_FREE_POINTER, mem, 0);
}

static SLOW void free_headless(void *mem) {
    unsigned bin = run_bin_of(mem);
    if (LIKELY(bin != SLOT_PAGES))
        free_object(mem, bin);
    else
        free_block(mem);
}

/* A large chunk goes into the calling thread's cache, if tcache_max says so and there is room. */
static COLD bool to_large_cache(void *mem, size_t csz) {
    struct tcache *t = self.tcache;
    size_t bin = tcache_bin(csz);
    if (bin >= TCACHE_BINS)
        return false;
    if (UNLIKELY(((struct cached *)mem)->key == cached_key))
        tcache_check_double_free(t, mem);
    if (t->room[bin] == 0)
        return false;
    tcache_push_large(t, bin, mem);
    return true;
}

/* A chunk of a linear bin carries the key: reason to look. */
static COLD void check_key(void *mem) {
    tcache_check_double_free(self.tcache, mem);
    OWN(free)(mem); /* by chance; the key is gone now */
}

void descend_to_arena(struct chunk *c) {
    if (UNLIKELY(option(OPT_PERTURB) != 0) && !is_mapped(c))
        clear_for_debugging(mem_of_chunk(c));
    hand_back(c);
}

static void free_chunk(void *mem) {
    struct chunk *c = chunk_of_mem(mem);
    size_t csz = chunk_size(c);
    uintptr_t last;
    if (UNLIKELY(__builtin_add_overflow((uintptr_t)c, csz - MIN_CHUNK, &last)))
        die(MSG_FREE_SIZE, mem, chunk_head(c));
    if (LIKELY(csz <= TCACHE_SMALL_MAX)) { /* the hot path has found the bin full, or the key */
        if (UNLIKELY(((struct cached *)mem)->key == cached_key)) {
            check_key(mem);
            return;
        }
    } else if (UNLIKELY(option(OPT_TCACHE_MAX) > TCACHE_SMALL_MAX) && to_large_cache(mem, csz)) {
        return;
    }
    descend_to_arena(c);
}

WHOLE void descend(void *mem) {
    if (UNLIKELY(!ptr_is_aligned(mem, ALIGNMENT)))
        die(MSG_FREE_POINTER, mem, 0);
    bool unsettled = tcache_is_inactive(self.tcache);
    settle_in();
    if (UNLIKELY(unsettled) && !tcache_is_inactive(self.tcache)) {
        OWN(free)(mem); /* now the hot path may do */
    } else if (in_run_window(mem)) {
        free_headless(mem);
    } else {
        free_chunk(mem);
    }
}
