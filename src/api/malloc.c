/* malloc and free when there is no hit in a cache before runs.  The hits are api/malloc_x86_64.S,
   api/malloc_aarch64.S or, for all else, api/malloc_any.c; tests/golden/hot_path.txt holds their instruction counts. */
#include "api/malloc.h"

#include "api/ladder.h"
#include "api/names.h"
#include "cache/cpu_cache.h"
#include "cache/tcache.h"
#include "life/attend.h"
#include "runs/window.h"

static SLOW void *malloc_slow(size_t req) {
    return climb(req, NULL);
}

static SLOW void *malloc_object(size_t req) {
    void *mem = cache_take(run_bin_of_request(req));
    attend();
    return LIKELY(mem != NULL) ? mem : malloc_slow(req);
}

/* Nothing in a cache before runs, if there is one: a hit in the thread's cache before arenas, or the ladder. */
void *malloc_further(size_t req) {
    struct tcache *t = self.tcache;
    size_t bin = tcache_bin_of_request(req);
    if (LIKELY(bin < TCACHE_SMALL_BINS && t->head[bin] != NULL))
        return tcache_pop(t, bin);
    return LIKELY(caches_are_on() && req <= RUN_MAX) && LIKELY(!tcache_is_inactive(t)) ? malloc_object(req)
                                                                                       : malloc_slow(req);
}

void free_slow(void *mem) {
    descend(mem);
}

/* Not in a window of runs. */
void free_foreign(void *mem) {
    if (mem == NULL)
        return;
    struct tcache *t = self.tcache;
    size_t bin = tcache_bin_of_head(chunk_head(chunk_of_mem(mem)));
    if (LIKELY(bin < TCACHE_SMALL_BINS && ptr_is_aligned(mem, ALIGNMENT) &&
               ((struct cached *)mem)->key != cached_key && t->room[bin] != 0)) {
        tcache_push(t, bin, mem);
        return;
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
