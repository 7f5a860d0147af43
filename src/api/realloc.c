#include <errno.h>
#include <string.h>

#include "api/ladder.h"
#include "api/names.h"
#include "arena/arenas.h"
#include "arena/mapped.h"
#include "arena/resize.h"
#include "chunk/footprint.h"
#include "guard/fatal.h"
#include "life/attend.h"
#include "life/start.h"
#include "runs/block.h"
#include "runs/size_class.h"

/* Another block, the contents carried along; the old one is freed unless there is no other. */
static void *move(void *mem, size_t req) {
    void *moved = OWN(malloc)(req);
    if (moved == NULL)
        return NULL;
    memcpy(moved, mem, size_min(block_usable(mem), req));
    OWN(free)(mem);
    return moved;
}

/* The hard limit may allow it after all: in place nothing but the difference is needed. */
static bool refused_but_now_there_is_room(void) {
    return UNLIKELY((self.due & DUE_REFUSED) != 0) && make_room();
}

static void *resize_mapped(struct chunk *c, size_t req, size_t csz) {
    if (UNLIKELY(!mapped_plausible(c)))
        die(MSG_MREMAP, mem_of_chunk(c), chunk_head(c));
    struct chunk *resized = mapped_resize(c, csz);
    if (resized == NULL && refused_but_now_there_is_room())
        resized = mapped_resize(c, csz);
    attend();
    if (resized != NULL)
        return mem_of_chunk(resized);
    if (csz <= chunk_size(c)) /* it could not be shrunk: it still holds what is asked for */
        return mem_of_chunk(c);
    return move(mem_of_chunk(c), req);
}

/* c, resized in place; or a chunk that takes its place, into which the contents have to be carried; NULL: its
   arena has no memory for that.  What the arena has behind c, top above all, may grow until it is enough: then
   the new chunk is a part of c and nothing is copied.  Lock held. */
static struct chunk *resize_in_arena(struct arena *a, struct chunk *c, size_t csz) {
    if (arena_resize(a, c, csz))
        return c;
    struct chunk *other = climb_in_arena(a, csz);
    return other != NULL && arena_append(a, c, other, csz) ? c : other;
}

/* The old chunk goes to its arena and not into the thread's cache (row D8). */
static void *carry_over(struct chunk *c, struct chunk *to) {
    void *mem = mem_of_chunk(to);
    memcpy(mem, mem_of_chunk(c), usable_of_chunk_size(size_min(chunk_size(c), chunk_size(to))));
    descend_to_arena(c);
    return mem;
}

static void *resize(struct chunk *c, size_t req, size_t csz) {
    struct arena *a = arena_of_chunk(c);
    if (UNLIKELY(a == NULL))
        die(MSG_REALLOC_POINTER, mem_of_chunk(c), chunk_head(c));
    if (!arena_enter(a)) /* a shrinking block just stays as large as it is */
        return csz <= chunk_size(c) ? mem_of_chunk(c) : move(mem_of_chunk(c), req);
    struct chunk *resized = resize_in_arena(a, c, csz);
    arena_leave(a);
    if (resized == NULL)
        return move(mem_of_chunk(c), req);
    void *mem = resized == c ? mem_of_chunk(c) : carry_over(c, resized);
    attend();
    return mem;
}

/* A smaller object is worth a copy when it saves half, and there is one. */
static bool stays(void *mem, size_t usable, size_t req) {
    if (req <= usable && req > usable / 2)
        return true;
    if (run_bin_of(mem) == SLOT_PAGES) /* in whole pages, of which the last ones may go or more come */
        return req > RUN_MAX && (block_resize(mem, req) ||
                                 (refused_but_now_there_is_room() && block_resize(mem, req)));
    return req <= usable && run_bin_of_request(req) == run_bin_of(mem);
}

static void *resize_headless(void *mem, size_t req) {
    size_t usable = headless_size(mem);
    if (UNLIKELY(usable == 0))
        die(MSG_REALLOC_POINTER, mem, 0);
    bool fits = stays(mem, usable, req);
    attend();
    if (fits)
        return mem;
    void *moved = move(mem, req);
    return moved == NULL && req <= usable ? mem : moved;
}

EXPORT void *NAME(realloc)(void *mem, size_t req) {
    if (mem == NULL)
        return OWN(malloc)(req);
    if (req == 0) {
        OWN(free)(mem);
        return NULL;
    }
    if (in_run_window(mem))
        return resize_headless(mem, req);
    struct chunk *c = chunk_of_mem(mem);
    size_t have = chunk_size(c);
    /* Nothing would change: the same chunk size, or a remainder that could be no chunk. */
    size_t usable = usable_of_chunk_size(have);
    if (req <= usable && usable - req < ALIGNMENT && ptr_is_aligned(mem, ALIGNMENT))
        return mem;
    if (UNLIKELY((uintptr_t)c > (uintptr_t)0 - have || !ptr_is_aligned(mem, ALIGNMENT)))
        die(MSG_REALLOC_POINTER, mem, chunk_head(c));
    if (UNLIKELY(req > REQUEST_MAX - HEADER)) {
        errno = ENOMEM;
        return NULL;
    }
    start();
    size_t csz = chunk_size_of_request(req);
    return is_mapped(c) ? resize_mapped(c, req, csz) : resize(c, req, csz);
}

EXPORT void *NAME(reallocarray)(void *mem, size_t n, size_t size) {
    size_t req;
    if (UNLIKELY(__builtin_mul_overflow(n, size, &req))) {
        errno = ENOMEM;
        return NULL;
    }
    return OWN(realloc)(mem, req);
}

DEFINE_OWN(realloc);
ALIAS(__libc_realloc, realloc);
ALIAS(__libc_reallocarray, reallocarray);
