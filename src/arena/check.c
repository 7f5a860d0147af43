#include "arena/check.h"

#include "arena/heap.h"
#include "arena/pages.h"
#include "arena/top.h"
#include "guard/assert.h"
#include "os/os.h"

/* What the walk over memory and the walk over the bins both count. */
struct tally {
    size_t free_chunks;
    size_t free_bytes;
    size_t pages;          /* bytes of whole pages in binned chunks */
    size_t resident;       /* of those, what may be resident */
    size_t with_resident;  /* chunks */
};

#define REQUIRE(cond, text, at)                                                                    \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            *where = (at);                                                                         \
            return (text);                                                                         \
        }                                                                                          \
    } while (0)

/* ---- bins ---- */

static const char *check_note(struct arena *a, struct chunk *c, struct tally *t, const void **where) {
    size_t csz = chunk_size(c), covered = pages_covered(c, csz);
    struct page_note *n = pages_note(c, csz);
    if (!a->purges || n == NULL)
        return NULL;
    char *end = ptr_align_down((char *)c + csz, os_facts.page);
    REQUIRE(n->from <= n->to && n->from >= end - covered && n->to <= end,
            "a free chunk's resident pages lie outside of it", c);
    REQUIRE(is_aligned((uintptr_t)n->from | (uintptr_t)n->to, os_facts.page),
            "a free chunk's resident pages are no pages", c);
    t->pages += covered;
    t->resident += (size_t)(n->to - n->from);
    t->with_resident += n->from < n->to;
    return NULL;
}

static const char *check_pages(struct arena *a, struct tally *t, const void **where) {
    if (!a->purges)
        return NULL;
    size_t listed = 0;
    for (struct link *l = a->resident.next; l != &a->resident; l = l->next) {
        REQUIRE(l->next->prev == l, "links of the resident chunks do not match", l);
        listed++;
    }
    REQUIRE(listed == t->with_resident, "chunks with resident pages and their list are not the same", a);
    REQUIRE(a->resident_bytes == t->resident, "the bytes of resident pages are counted wrong", a);
    REQUIRE(a->free_pages == t->pages, "the bytes of free pages are counted wrong", a);
    REQUIRE(a->top == NULL || a->top_touched <= (char *)a->top + top_size(a),
            "what was touched of top reaches past it", a->top_touched);
    return NULL;
}

static const char *check_small_or_unsorted(struct arena *a, unsigned i, struct tally *t,
                                           const void **where) {
    struct link *head = bin_head(&a->bins, i);
    for (struct link *l = head->next; l != head; l = l->next) {
        struct chunk *c = chunk_of_link(l);
        size_t csz = chunk_size(c);
        REQUIRE(l->next->prev == l && l->prev->next == l, "links of a bin do not match", c);
        REQUIRE(i == BIN_UNSORTED || csz == i * ALIGNMENT, "wrong size in a small bin", c);
        REQUIRE(!chunk_inuse(c), "a binned chunk is marked in use", c);
        REQUIRE(i != BIN_UNSORTED || is_small(csz) || c->sizes.next == NULL,
                "an unsorted chunk is in a ring of sizes", c);
        const char *wrong = check_note(a, c, t, where);
        if (wrong != NULL)
            return wrong;
        t->free_chunks++;
        t->free_bytes += csz;
    }
    return NULL;
}

static const char *check_large(struct arena *a, unsigned i, struct tally *t, const void **where) {
    struct link *head = bin_head(&a->bins, i);
    struct chunk *first = NULL, *last_first = NULL;
    size_t last_size = SIZE_MAX;
    for (struct link *l = head->next; l != head; l = l->next) {
        struct chunk *c = chunk_of_link(l);
        size_t csz = chunk_size(c);
        REQUIRE(l->next->prev == l && l->prev->next == l, "links of a bin do not match", c);
        REQUIRE(bin_of_size(csz) == i, "wrong size in a large bin", c);
        REQUIRE(!chunk_inuse(c), "a binned chunk is marked in use", c);
        REQUIRE(csz <= last_size, "a large bin is out of order", c);
        if (csz == last_size) {
            REQUIRE(c->sizes.next == NULL, "a size is twice in the ring of sizes", c);
        } else {
            REQUIRE(c->sizes.next != NULL, "a size is missing in the ring of sizes", c);
            REQUIRE(last_first == NULL || last_first->sizes.next == &c->sizes,
                    "the ring of sizes skips a size", c);
            REQUIRE(c->sizes.next->prev == &c->sizes, "links of a ring of sizes do not match", c);
            first = first != NULL ? first : c;
            last_first = c;
        }
        last_size = csz;
        const char *wrong = check_note(a, c, t, where);
        if (wrong != NULL)
            return wrong;
        t->free_chunks++;
        t->free_bytes += csz;
    }
    REQUIRE(first == NULL || last_first->sizes.next == &first->sizes,
            "a ring of sizes is not closed", first);
    return NULL;
}

static const char *check_bins(struct arena *a, struct tally *t, const void **where) {
    for (unsigned i = BIN_UNSORTED; i < BIN_COUNT; i++) {
        const char *wrong = i < BIN_FIRST_LARGE ? check_small_or_unsorted(a, i, t, where)
                                                : check_large(a, i, t, where);
        if (wrong != NULL)
            return wrong;
        REQUIRE(i == BIN_UNSORTED || list_empty(bin_head(&a->bins, i)) ||
                    (a->bins.map[i / 64] >> i % 64 & 1) != 0,
                "a bin that holds something is not in the map", bin_head(&a->bins, i));
    }
    return NULL;
}

/* ---- memory ---- */

/* The chunks from `c` up to `end`, exclusive. */
static const char *check_range(struct arena *a, struct chunk *c, const char *end, struct tally *t,
                               const void **where) {
    bool prev_free = false;
    REQUIRE(prev_inuse(c), "the first chunk says that something free lies before it", c);
    while ((char *)c < end) {
        size_t csz = chunk_size(c);
        REQUIRE(ptr_is_aligned(c, ALIGNMENT), "a chunk is not aligned", c);
        REQUIRE(csz >= FENCEPOST && is_aligned(csz, ALIGNMENT), "a chunk has no possible size", c);
        REQUIRE(csz <= (size_t)(end - (char *)c), "a chunk reaches past the end", c);
        REQUIRE(prev_inuse(c) != prev_free, "a flag differs from the state of the chunk before", c);
        if (c == a->top) {
            REQUIRE((char *)c + csz == end, "top does not reach to the end", c);
            return NULL;
        }
        bool fencepost = csz == FENCEPOST;
        bool is_free = !fencepost && !chunk_inuse(c);
        if (is_free) {
            REQUIRE(!prev_free, "two free neighbours are not merged", c);
            REQUIRE(foot_of_prev(chunk_next(c)) == csz, "a boundary tag differs from the size", c);
            REQUIRE(chunk_next(c) != a->top, "a free chunk before top is not part of it", c);
            t->free_chunks++;
            t->free_bytes += csz;
        } else if (!fencepost) {
            REQUIRE(is_secondary(c) == !a->main, "a chunk in use names the wrong kind of arena", c);
            REQUIRE(!is_mapped(c), "a chunk in a heap is marked as mapped", c);
        }
        prev_free = is_free;
        c = chunk_next(c);
    }
    return NULL;
}

static const char *check_pieces(struct arena *a, struct tally *t, const void **where) {
    for (unsigned i = 0; i < main_pieces.count; i++) {
        bool last = i + 1 == main_pieces.count;
        char *end = last ? (char *)a->top + top_size(a) : main_pieces.piece[i].end;
        const char *wrong = check_range(a, main_pieces.piece[i].first, end, t, where);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static const char *check_heaps(struct arena *a, struct tally *t, const void **where) {
    size_t bytes = 0;
    for (struct heap *h = heap_of(a->top); h != NULL; h = h->prev) {
        REQUIRE(h->arena == a, "a sub-heap names another arena", h);
        REQUIRE(heap_known(h), "a sub-heap is not registered", h);
        REQUIRE(h->size <= h->committed && h->committed <= HEAP_MAX, "a sub-heap's sizes", h);
        REQUIRE(is_aligned(h->size, os_facts.page), "a sub-heap's size is no multiple of a page", h);
        bytes += h->size;
        const char *wrong = check_range(a, heap_first_chunk(h), (char *)h + h->size, t, where);
        if (wrong != NULL)
            return wrong;
    }
    REQUIRE(bytes == a->system, "the byte count differs from the sub-heaps' sizes", a);
    return NULL;
}

const char *arena_check(struct arena *a, const void **where) {
    struct tally binned = {0}, walked = {0};
    const char *wrong = check_bins(a, &binned, where);
    if (wrong != NULL)
        return wrong;
    wrong = check_pages(a, &binned, where);
    if (wrong != NULL)
        return wrong;
    REQUIRE(a->system <= a->system_max, "the byte count is above its maximum", a);
    if (a->top == NULL) {
        REQUIRE(binned.free_chunks == 0, "an arena without memory has free chunks", a);
        return NULL;
    }
    REQUIRE(top_size(a) >= MIN_CHUNK && prev_inuse(a->top), "top's header", a->top);
    REQUIRE(a->dirty_end >= (char *)a->top + HEADER, "dirty_end lies before top", a->dirty_end);
    if (a->main && main_pieces.count > MAIN_PIECES)
        return NULL;
    wrong = a->main ? check_pieces(a, &walked, where) : check_heaps(a, &walked, where);
    if (wrong != NULL)
        return wrong;
    REQUIRE(walked.free_chunks == binned.free_chunks && walked.free_bytes == binned.free_bytes,
            "free chunks and binned chunks are not the same", a);
    return NULL;
}
