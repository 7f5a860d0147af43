#include "api/ladder.h"

#include "api/names.h"

#include <errno.h>
#include <string.h>

#include "arena/align.h"
#include "arena/allocate.h"
#include "arena/arenas.h"
#include "arena/mapped.h"
#include "cache/deep.h"
#include "cache/depot.h"
#include "cache/hand_back.h"
#include "cache/tcache.h"
#include "life/start.h"
#include "life/thread.h"
#include "options/options.h"
#include "runs/run.h"

/* The calling thread becomes known, and gets its cache.  errno survives: this is part of free too. */
static COLD void settle_in_slow(void) {
    int saved = errno;
    start();
    thread_begin();
    tcache_start();
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
    if (LIKELY(deep_is_live()))
        return deep_take(bin);
    struct bundle b; /* a thread without a cache */
    if (!runs_take(bin, 1, &b))
        return NULL;
    b.head->key = 0;
    return b.head;
}

static HOT void *from_runs(size_t req) {
    return option(OPT_RUNS) != 0 && req <= RUN_MAX ? from_runs_slow(req) : NULL;
}

/* Rungs 4 to 6 for a chunk of a linear bin: its siblings go to the cache. */
static struct chunk *small_chunk(struct order *o) {
    struct tcache *t = self.tcache;
    size_t bin = tcache_bin_of_head(o->csz);
    struct batch fill = {.room = t->room[bin]};
    o->fill = &fill;
    struct chunk *c = from_arenas(o);
    if (fill.last != NULL)
        tcache_accept(t, bin, &fill);
    return c;
}

static struct chunk *chunk_for(struct order *o) {
    if (UNLIKELY(deep_is_live()))
        return from_arenas(o);
    if (LIKELY(o->csz <= TCACHE_SMALL_MAX))
        return small_chunk(o);
    if (UNLIKELY(option(OPT_TCACHE_MAX) > TCACHE_SMALL_MAX)) {
        struct chunk *c = from_large_cache(o);
        if (c != NULL)
            return c;
    }
    return from_arenas(o);
}

WHOLE void *climb(size_t req, char **zero_from) {
    if (UNLIKELY(req > REQUEST_MAX - HEADER)) {
        errno = ENOMEM;
        return NULL;
    }
    settle_in();
    void *mem = from_runs(req);
    struct order o = {.csz = chunk_size_of_request(req)};
    if (mem != NULL) {
        o.zero_from = (char *)mem + block_usable(mem);
    } else {
        struct chunk *c = chunk_for(&o);
        if (UNLIKELY(c == NULL)) {
            errno = ENOMEM;
            return NULL;
        }
        mem = mem_of_chunk(c);
    }
    *zero_from = o.zero_from;
    if (UNLIKELY(option(OPT_PERTURB) != 0)) {
        fill_for_debugging(mem);
        *zero_from = (char *)mem + block_usable(mem);
    }
    return mem;
}

/* Objects of a run are as aligned as their size is.  A bin may also hold chunks, which are not. */
static void *aligned_from_runs(size_t align, size_t req) {
    if (align > 4096 || req > RUN_MAX)
        return NULL;
    void *mem = from_runs(align_up(size_max(req, 1), align));
    if (mem != NULL && !ptr_is_aligned(mem, align)) {
        descend(mem);
        return NULL;
    }
    return mem;
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
    if (UNLIKELY(req > REQUEST_MAX - HEADER || align > REQUEST_MAX - HEADER - req)) {
        errno = ENOMEM;
        return NULL;
    }
    settle_in();
    size_t csz = chunk_size_of_request(req);
    void *mem = deep_is_live() ? NULL : tcache_pop_aligned(self.tcache, csz, align);
    if (mem != NULL)
        return mem;
    mem = aligned_from_runs(align, req);
    if (mem == NULL) {
        struct chunk *c = aligned_from_arenas(align, csz);
        if (UNLIKELY(c == NULL)) {
            errno = ENOMEM;
            return NULL;
        }
        mem = mem_of_chunk(c);
    }
    if (UNLIKELY(option(OPT_PERTURB) != 0))
        fill_for_debugging(mem);
    return mem;
}

size_t block_usable(const void *mem) {
    return in_run(mem) ? run_object_size(mem) : usable_of_chunk_size(chunk_size(chunk_of_mem(mem)));
}

/* ---- down ---- */

static COLD void clear_for_debugging(void *mem) {
    memset(mem, (int)option(OPT_PERTURB), block_usable(mem));
}

static SLOW void free_object(void *mem) {
    struct cached *e = mem;
    if (UNLIKELY(!run_object_plausible(mem)))
        die(MSG_FREE_POINTER, mem, 0);
    /* No list is walked to be sure: in this memory the key is written by frees alone, and erased when
       an object is handed out. */
    if (UNLIKELY(e->key == cached_key))
        die(MSG_FREE_TCACHE_DOUBLE, mem, 0);
    unsigned bin = run_bin_of(mem);
    if (LIKELY(deep_is_live())) {
        deep_put(bin, mem);
        return;
    }
    if (UNLIKELY(option(OPT_PERTURB) != 0))
        clear_for_debugging(mem);
    struct bundle one = {0};
    e->key = cached_key;
    bundle_push(&one, e);
    depot_leave(bin, &one);
}

/* A large chunk goes into the calling thread's cache, if tcache_max says so and there is room. */
static COLD bool to_large_cache(void *mem, size_t csz) {
    struct tcache *t = self.tcache;
    size_t bin = tcache_bin(csz);
    if (deep_is_live() || bin >= TCACHE_BINS)
        return false;
    if (UNLIKELY(((struct cached *)mem)->key == cached_key))
        tcache_check_double_free(t, mem);
    if (t->room[bin] == 0)
        return false;
    tcache_push_large(t, bin, mem);
    return true;
}

/* A chunk of a linear bin carries the key.  Proof of a second free in front of runs, where the key is
   erased whenever an object is handed out; otherwise reason to look. */
static COLD void check_key(void *mem) {
    if (deep_is_live())
        die(MSG_FREE_TCACHE_DOUBLE, mem, chunk_head(chunk_of_mem(mem)));
    tcache_check_double_free(self.tcache, mem);
    OWN(free)(mem); /* by chance; the key is gone now */
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
    if (UNLIKELY(option(OPT_PERTURB) != 0) && !is_mapped(c))
        clear_for_debugging(mem);
    hand_back(c);
}

WHOLE void descend(void *mem) {
    if (UNLIKELY(!ptr_is_aligned(mem, ALIGNMENT)))
        die(MSG_FREE_POINTER, mem, 0);
    if (UNLIKELY(tcache_is_inactive(self.tcache))) {
        settle_in_slow(); /* and now the hot path may do */
        OWN(free)(mem);
    } else if (in_run(mem)) {
        free_object(mem);
    } else {
        free_chunk(mem);
    }
}
