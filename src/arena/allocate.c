#include "arena/allocate.h"

#include "arena/mapped.h"
#include "arena/mapped_cache.h"
#include "arena/purge.h"
#include "arena/release.h"
#include "arena/top.h"
#include "guard/assert.h"
#include "options/options.h"

/* So many chunks are sorted into their bins before a request is served without looking further, so
   that a long unsorted list cannot make one request slow without bound. */
enum { SORT_MAX = 10000 };

/* A free chunk that was in no list becomes a chunk in use, whole. */
static struct chunk *take_whole(struct arena *a, struct chunk *c, size_t csz) {
    pages_use(a, c, csz, csz);
    set_prev_inuse(chunk_at(c, csz));
    chunk_set_head(c, csz | PREV_INUSE | arena_flag(a));
    return c;
}

/* The same, but what is more than csz bytes stays free, if it can be a chunk: it becomes the newest
   in the unsorted list. */
static struct chunk *take_front(struct arena *a, struct chunk *c, size_t csz, enum message corrupt) {
    size_t have = chunk_size(c);
    size_t rest = have - csz;
    if (rest < MIN_CHUNK)
        return take_whole(a, c, have);
    struct chunk *remainder = chunk_at(c, csz);
    struct pages pages = pages_use(a, c, have, csz);
    chunk_set_head(c, csz | PREV_INUSE | arena_flag(a));
    chunk_set_head(remainder, rest | PREV_INUSE);
    set_foot(remainder, rest);
    bins_add_unsorted(&a->bins, remainder, corrupt);
    pages_free(a, remainder, rest, &pages);
    if (is_small(csz))
        a->last_remainder = remainder;
    return c;
}

/* ---- the exact bin of a small request ---- */

static struct chunk *unlink_oldest(struct arena *a, struct link *head, size_t csz) {
    struct link *l = head->prev;
    if (UNLIKELY(l->prev->next != l))
        die(MSG_MALLOC_SMALLBIN, (char *)l, chunk_head(chunk_of_link(l)));
    list_remove(l);
    return take_whole(a, chunk_of_link(l), csz);
}

static struct chunk *from_small_bin(struct arena *a, struct order *o) {
    struct link *head = bin_head(&a->bins, bin_of_size(o->csz));
    if (list_empty(head))
        return NULL;
    struct chunk *c = unlink_oldest(a, head, o->csz);
    /* Row A4: the lock is held, so its cost is shared with the siblings. */
    while (o->fill != NULL && o->fill->room > 0 && !list_empty(head))
        batch_add(o->fill, unlink_oldest(a, head, o->csz));
    return c;
}

/* ---- the unsorted list ---- */

static void check_unsorted(const struct arena *a, struct chunk *c) {
    size_t csz = chunk_size(c);
    void *mem = mem_of_chunk(c);
    if (UNLIKELY(csz <= HEADER || csz > a->system))
        die(MSG_UNSORTED_SIZE, mem, chunk_head(c));
    const struct chunk *next = chunk_at(c, csz);
    size_t next_size = chunk_head(next);
    if (UNLIKELY(next_size < HEADER || next_size > a->system))
        die(MSG_UNSORTED_NEXT_SIZE, mem, next_size);
    if (UNLIKELY(foot_of_prev(next) != csz))
        die(MSG_UNSORTED_PREV_SIZE, mem, chunk_head(c));
    if (UNLIKELY(c->link.prev->next != &c->link || c->link.next != &a->bins.head[BIN_UNSORTED]))
        die(MSG_UNSORTED_LINKS, mem, chunk_head(c));
    if (UNLIKELY(prev_inuse(next)))
        die(MSG_UNSORTED_INUSE, mem, next_size);
}

static void sort_into_bin(struct arena *a, struct chunk *c, size_t csz) {
    if (is_small(csz))
        bins_add_small(&a->bins, c, csz);
    else
        bins_add_large(&a->bins, c, csz);
}

/* Runs of small requests are cut from one chunk as long as nothing else was freed: neighbours in
   time become neighbours in space. */
static bool continues_last_split(struct arena *a, const struct chunk *c, size_t csz) {
    return is_small(csz) && c == a->last_remainder && c->link.prev == unsorted(&a->bins) &&
           chunk_size(c) > csz + MIN_CHUNK;
}

/* Looks at the chunks freed or split off since the last time, oldest first: an exact fit is taken
   (or handed to the cache, and the search goes on for more), the others go to their bins. */
static struct chunk *from_unsorted(struct arena *a, struct order *o) {
    struct link *head = unsorted(&a->bins);
    size_t limit = option(OPT_TCACHE_UNSORTED_LIMIT);
    for (size_t looked = 1; !list_empty(head); looked++) {
        struct chunk *c = chunk_of_link(head->prev);
        size_t csz = chunk_size(c);
        check_unsorted(a, c);
        if (continues_last_split(a, c, o->csz)) {
            list_remove(&c->link);
            return take_front(a, c, o->csz, MSG_UNSORTED_HEAD_2);
        }
        list_remove(&c->link);
        if (csz == o->csz) {
            take_whole(a, c, csz);
            if (o->fill == NULL || o->fill->room == 0)
                return c;
            batch_add(o->fill, c);
        } else {
            sort_into_bin(a, c, csz);
        }
        bool filled = o->fill != NULL && o->fill->last != NULL;
        if ((filled && limit > 0 && looked > limit) || looked >= SORT_MAX)
            break;
    }
    return o->fill != NULL ? batch_take(o->fill) : NULL;
}

/* ---- the best fit ---- */

static struct chunk *from_own_large_bin(struct arena *a, struct order *o) {
    if (is_small(o->csz))
        return NULL;
    struct chunk *c = bin_best_fit(&a->bins, bin_of_size(o->csz), o->csz);
    if (c == NULL)
        return NULL;
    bins_remove(&a->bins, c);
    return take_front(a, c, o->csz, MSG_UNSORTED_HEAD);
}

static struct chunk *from_larger_bin(struct arena *a, struct order *o) {
    struct chunk *c = bins_next_larger(&a->bins, bin_of_size(o->csz) + 1);
    if (c == NULL)
        return NULL;
    bins_remove(&a->bins, c);
    return take_front(a, c, o->csz, MSG_UNSORTED_HEAD_2);
}

/* ---- the top, and beyond ---- */

SLOW struct chunk *alloc_without_arena(struct order *o) {
    return mapped_alloc_zero(o->csz, ALIGNMENT, o->want_zero, &o->zero_from);
}

/* The only place where the mmap threshold is asked. */
static struct chunk *map_or_grow(struct arena *a, struct order *o) {
    bool tried = mapped_wanted(o->csz);
    struct chunk *c = tried ? alloc_without_arena(o) : NULL;
    if (c != NULL)
        return c;
    struct chunk *orphan;
    bool grew = top_grow(a, o->csz, &orphan);
    if (orphan != NULL)
        arena_join(a, orphan, chunk_size(orphan));
    if (grew)
        return top_carve(a, o->csz, &o->zero_from);
    /* A window cannot hold it, or the break is exhausted: a mapping, whatever its size. */
    return !tried && !a->main && option(OPT_MMAP_MAX) > 0 ? alloc_without_arena(o) : NULL;
}

/* Everything the arena has is used up. */
static SLOW struct chunk *from_system(struct arena *a, struct order *o) {
    struct chunk *c = map_or_grow(a, o);
    /* Near a limit, what waits for reuse makes room. */
    return c == NULL && footprint_could_serve(o->csz) && mapped_cache_empty() ? map_or_grow(a, o) : c;
}

struct chunk *arena_alloc(struct arena *a, struct order *o) {
    assert_argument(lock_is_mine(&a->lock));
    assert_argument(o->csz >= MIN_CHUNK && is_aligned(o->csz, ALIGNMENT));
    purge_tick(a);
    struct chunk *c = is_small(o->csz) ? from_small_bin(a, o) : NULL;
    if (c == NULL)
        c = from_unsorted(a, o);
    if (c == NULL)
        c = from_own_large_bin(a, o);
    if (c == NULL)
        c = from_larger_bin(a, o);
    if (c != NULL) {
        o->zero_from = (char *)c + chunk_size(c) + OVERHEAD;
        return c;
    }
    c = top_carve(a, o->csz, &o->zero_from);
    return c != NULL ? c : from_system(a, o);
}
