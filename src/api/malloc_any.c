/* A hit of malloc and of free in C, for machines without steps in assembler and for sanitizers. */
#include "api/malloc.h"
#include "api/names.h"
#include "cache/steps.h"
#include "runs/window.h"

#if !RUNG_RESTARTABLE

EXPORT void *NAME(malloc)(size_t req) {
    void *mem = LIKELY(req < hot_limit()) ? steps_pop(hot.bin_of[req]) : NULL;
    return LIKELY(mem != NULL) ? mem : malloc_further(req);
}

EXPORT void NAME(free)(void *mem) {
    if (!in_run_window(mem))
        free_foreign(mem);
    else if (!ptr_is_aligned(mem, 16) || *cache_numbered(cache_number())->top[run_bin_of(mem)] == mem ||
             !steps_push(run_bin_of(mem), mem))
        free_slow(mem);
}

DEFINE_OWN(malloc);
DEFINE_OWN(free);
ALIAS(__libc_malloc, malloc);
ALIAS(__libc_free, free);
ALIAS(cfree, free);

#endif
