/* malloc and free: the hot path.  A hit in the thread's cache is all there is to these functions; the
   rest is behind one call each.  tests/golden/hot_path.txt holds their instruction counts. */
#include "api/ladder.h"
#include "api/names.h"
#include "cache/tcache.h"
#include "runs/run.h"

static SLOW void *malloc_slow(size_t req) {
    char *zero_from;
    return climb(req, &zero_from);
}

EXPORT void *NAME(malloc)(size_t req) {
    struct tcache *t = self.tcache;
    size_t bin = tcache_bin_of_request(req);
    if (LIKELY(bin < TCACHE_SMALL_BINS && t->head[bin] != NULL))
        return tcache_pop(t, bin);
    return malloc_slow(req);
}

static SLOW void free_slow(void *mem) {
    descend(mem);
}

EXPORT void NAME(free)(void *mem) {
    struct tcache *t = self.tcache;
    size_t bin;
    if (in_run(mem))
        bin = run_bin_of(mem);
    else if (UNLIKELY(mem == NULL))
        return;
    else
        bin = tcache_bin_of_head(chunk_head(chunk_of_mem(mem)));
    if (LIKELY(bin < TCACHE_SMALL_BINS && ptr_is_aligned(mem, ALIGNMENT) &&
               ((struct cached *)mem)->key != cached_key && t->room[bin] != 0))
        tcache_push(t, bin, mem);
    else
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
