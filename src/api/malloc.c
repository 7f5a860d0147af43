/* malloc and free: the hot path.  A hit in the thread's cache is all there is to these functions; the
   rest is behind one call each.  A thread has one of two caches: before runs (cache/deep.h), or before
   arenas (cache/tcache.h); in the other nothing is found and nothing has room.  tests/golden/hot_path.txt holds their instruction counts. */
#include "api/ladder.h"
#include "api/names.h"
#include "cache/deep.h"
#include "cache/tcache.h"
#include "life/attend.h"

static SLOW void *malloc_slow(size_t req) {
    return climb(req, NULL);
}

/* Of a thread whose cache lies before runs. */
static SLOW void *malloc_object(size_t req) {
    void *mem = deep_take(run_bin_of_request(req));
    attend();
    return LIKELY(mem != NULL) ? mem : malloc_slow(req);
}

/* Of a thread whose cache lies before arenas; or from the bins of sizes above the linear ones. */
static SLOW void *malloc_further(size_t req) {
    struct tcache *t = self.tcache;
    size_t bin = tcache_bin_of_request(req);
    if (LIKELY(bin < TCACHE_SMALL_BINS && t->head[bin] != NULL))
        return tcache_pop(t, bin);
    return LIKELY(deep_is_live() && req <= RUN_MAX) ? malloc_object(req) : malloc_slow(req);
}

EXPORT void *NAME(malloc)(size_t req) {
    size_t last = req - 1; /* the number of the last byte; nothing is asked for off the hot path */
    if (LIKELY(last < RUN_SMALL_MAX)) {
        void *mem = deep_pop(self.deep, last / 16);
        if (LIKELY(mem != NULL))
            return mem;
    }
    return malloc_further(req);
}

static SLOW void free_slow(void *mem) {
    descend(mem);
}

EXPORT void NAME(free)(void *mem) {
    if (LIKELY(in_run_window(mem))) {
        if (LIKELY(ptr_is_aligned(mem, ALIGNMENT) && deep_push(self.deep, run_bin_of(mem), mem)))
            return;
    } else if (mem == NULL) {
        return;
    } else {
        struct tcache *t = self.tcache;
        size_t bin = tcache_bin_of_head(chunk_head(chunk_of_mem(mem)));
        if (LIKELY(bin < TCACHE_SMALL_BINS && ptr_is_aligned(mem, ALIGNMENT) &&
                   ((struct cached *)mem)->key != cached_key && t->room[bin] != 0)) {
            tcache_push(t, bin, mem);
            return;
        }
    }
    free_slow(mem);
}

/* C23.  The size is not checked: programs that lie about it work with other allocators. */
EXPORT void NAME(free_sized)(void *mem, size_t req) {
    (void)req;
    OWN(free)(mem);
}

EXPORT void NAME(free_aligned_sized)(void *mem, size_t align, size_t req) {
    (void)align;
    (void)req;
    OWN(free)(mem);
}

DEFINE_OWN(malloc);
DEFINE_OWN(free);
ALIAS(__libc_malloc, malloc);
ALIAS(__libc_free, free);
ALIAS(cfree, free);
