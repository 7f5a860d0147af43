#include "api/ladder.h"

#include <errno.h>
#include <string.h>

#include "arena/align.h"
#include "arena/allocate.h"
#include "arena/arenas.h"
#include "arena/mapped.h"
#include "cache/hand_back.h"
#include "cache/tcache.h"
#include "life/start.h"
#include "life/thread.h"
#include "options/options.h"

/* The calling thread becomes known, and gets its cache. */
static void settle_in(void) {
    start();
    if (LIKELY(!tcache_is_inactive(self.tcache)))
        return;
    thread_begin();
    tcache_start();
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

static struct chunk *from_large_cache(size_t csz, size_t bin) {
    if (bin < TCACHE_SMALL_BINS || bin >= TCACHE_BINS)
        return NULL;
    void *mem = tcache_pop_large(self.tcache, bin, csz);
    return mem != NULL ? chunk_of_mem(mem) : NULL;
}

static void fill_for_debugging(struct chunk *c) {
    size_t perturb = option(OPT_PERTURB);
    if (UNLIKELY(perturb != 0))
        memset(mem_of_chunk(c), (int)(~perturb & 0xff), usable_of_chunk_size(chunk_size(c)));
}

struct chunk *climb(size_t req, char **zero_from) {
    if (UNLIKELY(req > REQUEST_MAX - HEADER)) {
        errno = ENOMEM;
        return NULL;
    }
    settle_in();
    struct tcache *t = self.tcache;
    struct batch fill = {0};
    struct order o = {.csz = chunk_size_of_request(req), .fill = &fill};
    size_t bin = tcache_bin(o.csz);
    struct chunk *c = from_large_cache(o.csz, bin);
    if (c != NULL) {
        *zero_from = (char *)chunk_next(c) + OVERHEAD;
        return c;
    }
    /* Another thread's or a handler's calls cannot change this: the cache is ours, and start and end
       of it happen in calls of ours. */
    if (bin < TCACHE_SMALL_BINS)
        fill.room = t->room[bin];
    c = from_arenas(&o);
    if (fill.last != NULL)
        tcache_accept(t, bin, &fill);
    if (UNLIKELY(c == NULL)) {
        errno = ENOMEM;
        return NULL;
    }
    fill_for_debugging(c);
    *zero_from = option(OPT_PERTURB) != 0 ? (char *)chunk_next(c) + OVERHEAD : o.zero_from;
    return c;
}

struct chunk *climb_aligned(size_t align, size_t req) {
    if (UNLIKELY(req > REQUEST_MAX - HEADER || align > REQUEST_MAX - HEADER - req)) {
        errno = ENOMEM;
        return NULL;
    }
    settle_in();
    size_t csz = chunk_size_of_request(req);
    void *mem = tcache_pop_aligned(self.tcache, csz, align);
    if (mem != NULL)
        return chunk_of_mem(mem);
    struct arena *a = arena_enter_own();
    struct chunk *c = NULL;
    if (a != NULL && (c = arena_alloc_aligned(a, align, csz)) == NULL &&
        (a = arena_enter_other(a)) != NULL)
        c = arena_alloc_aligned(a, align, csz);
    if (a != NULL)
        arena_leave(a);
    if (c == NULL)
        c = mapped_alloc(csz, align);
    if (UNLIKELY(c == NULL)) {
        errno = ENOMEM;
        return NULL;
    }
    fill_for_debugging(c);
    return c;
}

/* ---- down ---- */

/* Into the calling thread's cache; false: no room, or not a size for it. */
static bool to_cache(void *mem, size_t csz) {
    struct tcache *t = self.tcache;
    size_t bin = tcache_bin(csz);
    if (csz < MIN_CHUNK || bin >= TCACHE_BINS)
        return false;
    if (((struct cached *)mem)->key == tcache_key)
        tcache_check_double_free(t, mem);
    if (t->room[bin] == 0)
        return false;
    if (bin < TCACHE_SMALL_BINS)
        tcache_push(t, bin, mem);
    else
        tcache_push_large(t, bin, mem);
    return true;
}

void descend(void *mem) {
    struct chunk *c = chunk_of_mem(mem);
    if (UNLIKELY(!ptr_is_aligned(mem, ALIGNMENT)))
        die(MSG_FREE_POINTER, mem, 0);
    int saved = errno; /* settling in may call functions of libc */
    settle_in();
    errno = saved;
    size_t csz = chunk_size(c);
    if (to_cache(mem, csz))
        return;
    uintptr_t last;
    if (UNLIKELY(__builtin_add_overflow((uintptr_t)c, csz - MIN_CHUNK, &last)))
        die(MSG_FREE_SIZE, mem, chunk_head(c));
    size_t perturb = option(OPT_PERTURB);
    if (UNLIKELY(perturb != 0) && !is_mapped(c))
        memset(mem, (int)perturb, csz - HEADER);
    hand_back(c);
}
