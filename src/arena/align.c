#include "arena/align.h"

#include "arena/allocate.h"
#include "arena/mapped.h"
#include "arena/release.h"
#include "arena/resize.h"
#include "guard/assert.h"

/* Splits c, so that the second part's payload is aligned; the first part, at least MIN_CHUNK,
   becomes free. */
static struct chunk *drop_lead(struct arena *a, struct chunk *c, size_t align) {
    char *mem = mem_of_chunk(c);
    if (ptr_is_aligned(mem, align))
        return c;
    struct chunk *aligned = chunk_of_mem(ptr_align_up(mem + MIN_CHUNK, align));
    size_t lead = (size_t)((char *)aligned - (char *)c);
    size_t rest = chunk_size(c) - lead;
    chunk_set_head(aligned, rest | PREV_INUSE | arena_flag(a));
    chunk_set_head(c, lead | (chunk_head(c) & FLAGS));
    arena_free(a, c, lead);
    return aligned;
}

struct chunk *arena_alloc_aligned(struct arena *a, size_t align, size_t csz) {
    assert_argument(is_pow2(align) && align >= MIN_CHUNK);
    struct order o = {.csz = csz + align + MIN_CHUNK};
    struct chunk *c = arena_alloc(a, &o);
    if (c == NULL)
        return NULL;
    if (is_mapped(c))
        return mapped_align(c, align);
    c = drop_lead(a, c, align);
    arena_cut(a, c, csz);
    return c;
}
