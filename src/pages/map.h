/* What is known of the pages of a window, and the spans they form.
 *
 * A window's pages behind its head are tiled by spans: stretches of pages with one owner, or with none and in
 * one state.  What is said of a span stands at its first and at its last page only, so that no step costs more
 * because a span is long, and neighbours find each other:
 *
 *      head       in use        resident  gone   in use                    closed
 *   +---------+--------------+----------+------+--------+---------------------------------------+
 *   |         |              |          |      |        |                                       |
 *   +---------+--------------+----------+------+--------+---------------------------------------+
 *   pages[]    14 ......... 14 10 .... 10 6 . 6 8 .... 8 37 ................................. 37
 *   state[]    U  ......... U  R ..... R  G . G U .... U C ................................... C
 *
 *   used      somebody above has it
 *   resident  nobody has it, and its memory may be there
 *   gone      nobody has it, it is accessible, and its memory was given back
 *   closed    nobody has it, and it is not accessible: never used so far, or taken away by a purge that
 *             has to return the promise of memory too
 *
 * Free neighbours in the same state are one span.  Free spans lie in lists by length (pages/lists.h), and the
 * resident ones in one more by age; the links lie here too, at a span's first page, so nothing is ever
 * written into free memory.
 *
 * All of it is guarded by the lock of space. */
#ifndef RUNG_PAGES_MAP_H
#define RUNG_PAGES_MAP_H

#include "chunk/window.h"
#include "os/os.h"

/* What the layers above say of each 64 KiB, a byte a slot, comes first (runs/window.h); then this; then what else
   they keep.  The head as a whole is this many slots. */
#define SLOT_SHIFT 16
#define SLOT_SIZE ((size_t)1 << SLOT_SHIFT)

enum {
    SLOTS_A_WINDOW = 1 << (WINDOW_SHIFT - SLOT_SHIFT),
    HEAD_SLOTS = 14,
    PAGES_A_WINDOW_MAX = 1 << (WINDOW_SHIFT - 12),
};

#define PAGE_MAP_AT ((size_t)SLOTS_A_WINDOW)

/* In the slots' bytes of a new window: no run (runs/size_class.h counts the sizes). */
enum { SLOT_OF_PAGES = 104 };

/* Small objects fill their pages, so huge pages serve them well; a large block's owner may touch only
   a part of it, and a huge page would make all of it resident.  And what is small and lives long
   shall not lie between large blocks that come and go. */
enum space_kind {
    SPACE_SMALL,
    SPACE_LARGE,
    SPACE_KINDS,
};

enum span_state {
    SPAN_NONE, /* the head's */
    SPAN_USED,
    SPAN_RESIDENT,
    SPAN_GONE,
    SPAN_CLOSED,
};

/* The first page of a span anywhere: its window's number in the upper half.  0: none, since page 0 is a head's. */
typedef uint32_t span_id;
#define SPAN_PAGE_BITS (WINDOW_SHIFT - 12)

struct span_links {
    span_id next;
    span_id prev;
};

struct page_map {
    uint16_t number;         /* of the window: page_windows[number] */
    uint8_t kind;            /* enum space_kind */
    bool huge;               /* huge pages were asked for, in all of it or from some group on */
    bool broken;             /* they were, and are not any more */
    unsigned used_pages;     /* the head's not included */
    unsigned resident_pages; /* of the free ones */
    unsigned open_pages;     /* accessible, the head's included */
    uint16_t pages[PAGES_A_WINDOW_MAX];
    uint8_t state[PAGES_A_WINDOW_MAX];
    struct span_links by_length[PAGES_A_WINDOW_MAX];
    struct span_links by_age[PAGES_A_WINDOW_MAX / 2]; /* two resident spans never lie side by side */
};

static HOT struct page_map *page_map_of(const void *mem) {
    return (struct page_map *)((char *)window_of(mem) + PAGE_MAP_AT);
}

/* Pages are powers of two, and dividing is slow. */
static HOT size_t whole_pages_in(size_t bytes) {
    return bytes >> __builtin_ctzl(os_facts.page);
}

static HOT size_t page_number(const void *mem) {
    return whole_pages_in((uintptr_t)mem & (WINDOW - 1));
}

static HOT char *page_start(const void *in_window, size_t page) {
    return (char *)window_of(in_window) + page * os_facts.page;
}

static HOT size_t pages_a_window(void) {
    return whole_pages_in(WINDOW);
}

static HOT size_t head_pages(void) {
    return HEAD_SLOTS * whole_pages_in(SLOT_SIZE);
}

static inline bool span_is_free(enum span_state s) {
    return s >= SPAN_RESIDENT;
}

/* ---- lock of space held ---- */

/* A new window's pages: one closed span.  The map is all zeros. */
void map_begin(struct page_map *m, unsigned number, enum space_kind kind);

/* No page of the window is used: its spans leave the lists. */
void map_end(struct page_map *m);

/* After map_end(), and under a number that may be another: they come back. */
void map_list_again(struct page_map *m);

/* What was found of the pages [page, page + n) when they were taken. */
struct taken {
    size_t resident; /* pages */
    size_t gone;
    size_t closed;
};

/* Counts the free pages among [page, page + n), of which the first starts a span; false: one of them is used. */
bool map_look(const struct page_map *m, size_t page, size_t n, struct taken *t);

/* Free pages become used, one span; page starts a span, or lies in the one that starts at `in`. */
void map_take(struct page_map *m, size_t in, size_t page, size_t n);

/* The used span at `page` becomes n pages longer; map_look() has found those free. */
void map_extend(struct page_map *m, size_t page, size_t n);

/* The used span at `page` becomes n pages shorter: these are free, and resident. */
void map_shrink(struct page_map *m, size_t page, size_t n);

/* The used span at `page` is free, and resident. */
void map_give(struct page_map *m, size_t page);

/* The last n pages of the resident span at `page` are gone, or closed. */
void map_gone(struct page_map *m, size_t page, size_t n, bool closed);

/* n closed pages at `page`, inside the closed span that starts at `in`, are accessible, and gone. */
void map_open(struct page_map *m, size_t in, size_t page, size_t n);

/* NULL when all is sound, otherwise what is wrong. */
const char *map_check(const struct page_map *m);

#endif
