#include <errno.h>
#include <string.h>

#include "api/ladder.h"
#include "api/names.h"
#include "cache/steps.h"
#include "cache/tcache.h"

/* Clears what may have been written to since the kernel zeroed it. */
static SLOW void *calloc_slow(size_t req) {
    char *zero_from;
    char *mem = climb(req, &zero_from);
    if (mem == NULL)
        return NULL;
    char *end = mem + block_usable(mem);
    if (zero_from < end)
        end = zero_from;
    if (end > mem)
        memset(mem, 0, (size_t)(end - mem));
    return mem;
}

EXPORT void *NAME(calloc)(size_t n, size_t size) {
    size_t req;
    if (UNLIKELY(__builtin_mul_overflow(n, size, &req))) {
        errno = ENOMEM;
        return NULL;
    }
    if (LIKELY(req < hot_limit())) {
        caches_look_around(); /* libc comes here on its way to a second thread */
        void *mem = steps_pop(hot.bin_of[req]);
        if (LIKELY(mem != NULL))
            return memset(mem, 0, req);
    }
    struct tcache *t = self.tcache;
    size_t bin = tcache_bin_of_request(req);
    if (bin < TCACHE_SMALL_BINS && t->head[bin] != NULL)
        return memset(tcache_pop(t, bin), 0, tcache_bin_usable(bin));
    return calloc_slow(req);
}

ALIAS(__libc_calloc, calloc);
