#include "arena/release.h"

#include "arena/heap.h"
#include "arena/mapped_cache.h"
#include "arena/purge.h"
#include "arena/top.h"
#include "guard/assert.h"
#include "options/options.h"
#include "options/threshold.h"

/* Whether memory of this arena ends in front of `next`.  Not to be told for a main arena that lives
   in several pieces. */
static bool is_outside(const struct arena *a, const struct chunk *c, const struct chunk *next) {
    if (!a->main)
        return (size_t)((char *)next - (char *)heap_of(c)) >= heap_of(c)->size;
    return a->contiguous && (char *)next >= (char *)a->top + top_size(a);
}

/* What can be told from the chunk and its successor without a walk (row E5). */
static void check_release(const struct arena *a, const struct chunk *c, size_t csz) {
    const struct chunk *next = chunk_at(c, csz);
    void *mem = mem_of_chunk(c);
    if (UNLIKELY(c == a->top))
        die(MSG_FREE_TOP, mem, chunk_head(c));
    if (UNLIKELY(is_outside(a, c, next)))
        die(MSG_FREE_OUT, mem, chunk_head(c));
    if (UNLIKELY(!prev_inuse(next)))
        die(MSG_FREE_PREV, mem, chunk_head(c));
    if (UNLIKELY(chunk_head(next) <= HEADER || chunk_size(next) >= a->system))
        die(MSG_FREE_NEXT_SIZE, mem, chunk_head(next));
}

/* The csz bytes at c, of whose pages p tells, become free: nothing free lies before them. */
static size_t make_free(struct arena *a, struct chunk *c, size_t csz, struct chunk *next,
                        struct pages *p) {
    if (next == a->top) {
        top_touch(a, (char *)next + HEADER);
        csz += chunk_size(next);
        top_set(a, c, csz);
        return csz;
    }
    if (!chunk_inuse(next)) {
        size_t after = chunk_size(next);
        bins_remove(&a->bins, next);
        pages_absorb(a, next, after, p);
        csz += after;
    } else {
        clear_prev_inuse(next);
    }
    chunk_set_head(c, csz | PREV_INUSE);
    set_foot(c, csz);
    /* Small chunks skip the unsorted list: there is nothing to gain from a second look at them,
       and they would make the scan long. */
    if (is_small(csz))
        bins_add_small(&a->bins, c, csz);
    else
        bins_add_unsorted(&a->bins, c, MSG_FREE_UNSORTED);
    pages_free(a, c, csz, p);
    return csz;
}

size_t arena_make_free(struct arena *a, struct chunk *c, size_t csz, struct chunk *next) {
    struct pages p = pages_in_use(c, csz);
    return make_free(a, c, csz, next, &p);
}

size_t arena_join(struct arena *a, struct chunk *c, size_t csz) {
    assert_argument(lock_is_mine(&a->lock));
    check_release(a, c, csz);
    struct chunk *next = chunk_at(c, csz);
    struct pages p = pages_in_use(c, csz);
    if (!prev_inuse(c)) {
        size_t before = foot_of_prev(c);
        struct chunk *prev = (struct chunk *)((char *)c - before);
        if (UNLIKELY(chunk_size(prev) != before))
            die(MSG_PREV_SIZE_FREE, mem_of_chunk(c), chunk_head(prev));
        bins_remove(&a->bins, prev);
        pages_absorb(a, prev, before, &p);
        c = prev;
        csz += before;
    }
    return make_free(a, c, csz, next, &p);
}

void arena_maybe_trim(struct arena *a, size_t csz) {
    if (csz < TRIM_ATTEMPT || a->purges)
        return;
    mapped_cache_age();
    thresholds_age();
    /* A secondary arena always tries, since an empty window can go whatever top's size. */
    if (!a->main || top_size(a) >= option(OPT_TRIM_THRESHOLD))
        top_trim(a, option(OPT_TOP_PAD));
}

void arena_free(struct arena *a, struct chunk *c, size_t csz) {
    purge_note_peak(a);
    size_t merged = arena_join(a, c, csz);
    if (merged >= TRIM_ATTEMPT) {
        thresholds_confirm(csz);
        arena_maybe_trim(a, merged);
    }
    purge_tick(a);
}
