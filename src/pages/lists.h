/* Lists of free spans: by length, so that one that fits is found without a search, and of the resident ones by
 * age, so that the coldest are given back first.
 *
 *   length   1  2 .. 64 | 65..72  73..80 .. 121..128 | 129..144 ..  | ...  .. 16384
 *   class    0  1 .. 63 |   64      65   ..    71    |    72    ..  |          127
 *
 * A word of bits says which lists are not empty.  For a length up to 64 the first span of the first list that
 * is long enough is the best fit; beyond, it wastes at most an eighth.  The span at the front of a list is one of
 * the oldest windows and the lowest pages, as far as that can be had for nothing: one that lies lower than the
 * front goes before it, any other goes to the end. */
#ifndef RUNG_PAGES_LISTS_H
#define RUNG_PAGES_LISTS_H

#include "pages/map.h"

enum {
    SPAN_EXACT = 64,
    SPAN_CLASSES = 128,
};

/* The class of n pages. */
static inline unsigned span_class(size_t n) {
    if (n <= SPAN_EXACT)
        return (unsigned)n - 1;
    unsigned doubling = log2_floor(n - 1); /* 6..13 */
    return SPAN_EXACT + (doubling - 6) * 8 + (unsigned)((n - 1) >> (doubling - 3)) % 8;
}

/* The shortest span of a class. */
static inline size_t span_class_least(unsigned class) {
    if (class < SPAN_EXACT)
        return class + 1;
    unsigned doubling = 6 + (class - SPAN_EXACT) / 8;
    return ((size_t)1 << doubling) + ((size_t)((class - SPAN_EXACT) % 8) << (doubling - 3)) + 1;
}

/* The first class whose spans are all of n pages or more; SPAN_CLASSES: there is none. */
static inline unsigned span_class_fitting(size_t n) {
    if (n > PAGES_A_WINDOW_MAX)
        return SPAN_CLASSES;
    unsigned class = span_class(n);
    return span_class_least(class) < n ? class + 1 : class;
}

/* ---- lock of space held, as for all of this ---- */

/* Of all windows; a hole is NULL.  Numbers up to page_windows_end, from 1. */
enum { WINDOWS_MAX = 1 << 16 };
extern struct page_map *page_windows[WINDOWS_MAX];
extern unsigned page_windows_end;

/* A number for m; 0: there are too many windows. */
unsigned windows_add(struct page_map *m);
void windows_remove(struct page_map *m);

static inline struct page_map *span_map(span_id id) {
    return page_windows[id >> SPAN_PAGE_BITS];
}

static inline size_t span_page(span_id id) {
    return id & (PAGES_A_WINDOW_MAX - 1);
}

/* The free span at `page`, whose length and state are written, goes into its lists; if resident, as the warmest, or
   right behind the one that is `warmer` than it. */
void lists_add(struct page_map *m, size_t page, span_id warmer);

/* It leaves them.  Returns which resident span is the next warmer one; 0: none, or it is not resident. */
span_id lists_remove(struct page_map *m, size_t page);

/* The best span for n pages at a multiple of align (pages); *at: where in it.  `resident`: all resident, or none.
   0: none, or none was found in a few steps. */
span_id lists_find(enum space_kind kind, bool resident, size_t n, size_t align, size_t *at);

/* The coldest resident span, and the next warmer one; 0: there is none. */
span_id lists_coldest(void);
span_id lists_warmer(span_id id);

/* Whether the span is where it has to be. */
bool lists_have(const struct page_map *m, size_t page);

#endif
