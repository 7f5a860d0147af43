/* A secondary arena's memory: sub-heaps. */
#include "arena/heap.h"
#include "arena/pages.h"
#include "arena/top.h"
#include "guard/assert.h"
#include "options/options.h"
#include "os/os.h"

static char *heap_end(struct heap *h) {
    return (char *)h + h->size;
}

bool top_grow_heap(struct arena *a, size_t csz, struct chunk **orphan) {
    struct chunk *old = a->top;
    size_t old_size = top_size(a);
    struct heap *h = heap_of(old);
    size_t before = h->size;
    if (csz > HEAP_MAX)
        return false;
    if (csz + MIN_CHUNK > old_size && heap_grow(h, csz + MIN_CHUNK - old_size)) {
        arena_grew(a, h->size - before);
        top_set(a, old, old_size + (h->size - before));
        return true;
    }
    struct heap *fresh = heap_create(a, 0, csz + MIN_CHUNK, option(OPT_TOP_PAD));
    if (fresh == NULL)
        return false;
    fresh->prev = h;
    arena_grew(a, fresh->size);
    struct chunk *first = heap_first_chunk(fresh);
    top_set(a, first, (size_t)(heap_end(fresh) - (char *)first));
    a->dirty_end = a->top_touched = (char *)first + HEADER;
    *orphan = top_fence_off(old, old_size);
    if (*orphan != NULL)
        chunk_set_head(*orphan, chunk_head(*orphan) | SECONDARY);
    return true;
}

/* The last window is nothing but top: unmap it and make the end of the window before it top again,
   fenceposts and a free chunk in front of them included.  False: the kernel refused, or the window
   before is so full that top would at once need a new one. */
static bool drop_last_window(struct arena *a, struct heap *h, size_t pad) {
    struct heap *prev = h->prev;
    struct chunk *post = (struct chunk *)(heap_end(prev) - 2 * FENCEPOST);
    assert_structure(chunk_size(post) == FENCEPOST);
    if (is_secondary(post)) /* see top_fence_off() */
        post = (struct chunk *)((char *)post - FENCEPOST);
    struct chunk *t = post;
    bool merge = !prev_inuse(post);
    if (merge)
        t = (struct chunk *)((char *)post - foot_of_prev(post));
    size_t csz = (size_t)(heap_end(prev) - (char *)t);
    if (pad > HEAP_MAX || csz + (HEAP_MAX - prev->size) < pad + MIN_CHUNK + os_facts.page)
        return false;
    size_t gone = h->size;
    if (!heap_destroy(h))
        return false;
    arena_shrank(a, gone);
    if (merge) {
        bins_remove(&a->bins, t);
        pages_use(a, t, chunk_size(t), 0);
    }
    top_set(a, t, csz);
    a->dirty_end = (char *)prev + prev->committed;
    a->top_touched = heap_end(prev);
    return true;
}

SLOW bool top_trim_heap(struct arena *a, size_t pad) {
    bool gave = false;
    struct heap *h = heap_of(a->top);
    while (h->prev != NULL && a->top == heap_first_chunk(h)) {
        if (!drop_last_window(a, h, pad))
            break;
        gave = true;
        h = heap_of(a->top);
    }
    size_t have = top_size(a);
    if (have < option(OPT_TRIM_THRESHOLD))
        return gave;
    size_t less = top_excess(have, pad, os_facts.page);
    bool zero;
    if (less == 0 || !heap_shrink(h, less, &zero))
        return gave;
    arena_shrank(a, less);
    top_set(a, a->top, have - less);
    if (zero && a->dirty_end > heap_end(h))
        a->dirty_end = heap_end(h);
    return true;
}
