#include "arena/top.h"

#include "arena/check.h"
#include "arena/heap.h"
#include "arena/mapped_cache.h"
#include "arena/pages.h"
#include "guard/assert.h"

struct chunk *top_carve(struct arena *a, size_t csz, char **zero_from) {
    assert_argument(lock_is_mine(&a->lock));
    size_t have = top_size(a);
    if (UNLIKELY(have > a->system))
        die(MSG_TOP_SIZE, mem_of_chunk(a->top), chunk_head(a->top));
    if (have < csz + MIN_CHUNK)
        return NULL;
    struct chunk *c = a->top;
    top_set(a, chunk_at(c, csz), have - csz);
    chunk_set_head(c, csz | PREV_INUSE | arena_flag(a));
    *zero_from = a->dirty_end;
    /* The block will be written to, and top's own header has been. */
    char *touched = (char *)a->top + HEADER;
    if (a->dirty_end < touched)
        a->dirty_end = touched;
    top_touch(a, touched);
    if (top_size(a) < a->top_low)
        a->top_low = top_size(a);
    return c;
}

bool top_grow(struct arena *a, size_t csz, struct chunk **orphan) {
    *orphan = NULL;
    assert_heap(arena_is_sound(a));
    mapped_cache_age();
    size_t before = a->system;
    bool grew = a->main ? top_grow_main(a, csz, orphan) : top_grow_heap(a, csz, orphan);
    if (a->top_gone > 0) { /* what comes now takes the place of what went */
        size_t again = size_min(a->top_gone, a->system - before);
        a->top_gone -= again;
        a->wanted_back += again;
        a->wanted_back_at = a->top_gone_at;
    }
    return grew;
}

bool top_trim(struct arena *a, size_t pad) {
    assert_argument(lock_is_mine(&a->lock));
    if (a->top == NULL)
        return false;
    bool gave = a->main ? top_trim_main(a, pad) : top_trim_heap(a, pad);
    char *end = (char *)a->top + top_size(a);
    a->top_touched = a->top_touched < end ? a->top_touched : end;
    a->top_low = size_min(a->top_low, top_size(a));
    assert_heap(!gave || arena_is_sound(a));
    return gave;
}

struct chunk *top_fence_off(struct chunk *old, size_t csz) {
    size_t rest = align_down(csz - 2 * FENCEPOST, ALIGNMENT);
    size_t flag = chunk_head(old) & (PREV_INUSE | SECONDARY);
    /* 16 bytes in front of the two are a third, which the second's flag tells of: whoever takes a
       window apart could not find it otherwise. */
    size_t third = rest == FENCEPOST ? SECONDARY : 0;
    chunk_set_head(chunk_at(old, rest), FENCEPOST | PREV_INUSE | third);
    chunk_set_head(chunk_at(old, rest + FENCEPOST), FENCEPOST | PREV_INUSE);
    if (rest > 0) /* otherwise the first fencepost has taken old's place */
        chunk_set_head(old, rest | flag);
    return rest < MIN_CHUNK ? NULL : old;
}

size_t top_excess(size_t csz, size_t pad, size_t unit) {
    if (csz <= MIN_CHUNK + 1 || csz - MIN_CHUNK - 1 <= pad)
        return 0;
    return align_down(csz - MIN_CHUNK - 1 - pad, unit);
}
