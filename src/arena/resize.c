#include "arena/resize.h"

#include "arena/pages.h"
#include "arena/release.h"
#include "arena/top.h"
#include "guard/assert.h"

static void set_size(struct chunk *c, size_t csz) {
    chunk_set_head(c, csz | (chunk_head(c) & FLAGS));
}

void arena_cut(struct arena *a, struct chunk *c, size_t csz) {
    size_t rest = chunk_size(c) - csz;
    if (rest < MIN_CHUNK)
        return;
    struct chunk *next = chunk_next(c);
    set_size(c, csz);
    arena_maybe_trim(a, arena_make_free(a, chunk_at(c, csz), rest, next));
}

static void check_resize(const struct arena *a, const struct chunk *c) {
    void *mem = mem_of_chunk(c);
    size_t csz = chunk_size(c);
    if (UNLIKELY(csz < MIN_CHUNK || csz >= a->system))
        die(MSG_REALLOC_OLD, mem, chunk_head(c));
    const struct chunk *next = chunk_at(c, csz);
    if (UNLIKELY(chunk_head(next) <= HEADER || chunk_size(next) >= a->system))
        die(MSG_REALLOC_NEXT, mem, chunk_head(next));
}

bool arena_append(struct arena *a, struct chunk *c, struct chunk *behind, size_t csz) {
    assert_argument(lock_is_mine(&a->lock));
    if (is_mapped(behind) || behind != chunk_next(c))
        return false;
    set_size(c, chunk_size(c) + chunk_size(behind));
    arena_cut(a, c, csz);
    return true;
}

bool arena_resize(struct arena *a, struct chunk *c, size_t csz) {
    assert_argument(lock_is_mine(&a->lock));
    check_resize(a, c);
    size_t have = chunk_size(c);
    struct chunk *next = chunk_at(c, have);
    if (have < csz && next == a->top) {
        char *zero_from;
        struct chunk *piece = top_carve(a, csz - have, &zero_from);
        if (piece == NULL)
            return false;
        set_size(c, csz);
        return true;
    }
    if (have < csz) {
        size_t together = have + chunk_size(next);
        if (chunk_inuse(next) || together < csz)
            return false;
        bins_remove(&a->bins, next);
        pages_use(a, next, together - have, together - have);
        set_prev_inuse(chunk_at(c, together));
        set_size(c, together);
    }
    arena_cut(a, c, csz);
    return true;
}
