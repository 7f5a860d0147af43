/* What is known of a window of runs: the 64 MiB that small objects and large blocks share, kept at the
 * window's start.
 *
 *   64 MiB boundary
 *   +--------+-------------------------------+-----------------+-----------+--------------+------
 *   | slot[] | free, resident, recent, closed| block_pages[]   | run[]     | objects[]    | slot 10
 *   |        | a bit a page                  | a number a page | one a slot| a bit an     | ...
 *   |        |                               |                 |           | object       |
 *   +--------+-------------------------------+-----------------+-----------+--------------+------
 *   |<-------------------------- the window's head, 640 KiB, touched where used ----------------->|
 *
 * A window is 1024 slots of 64 KiB.  A slot is a run, objects of one size (runs/run.h), or its pages
 * belong to large blocks (runs/block.h) or to nobody.  From any address the window is one mask
 * away, the slot's number is in the bits below, and slot[] says which size the objects have: free
 * reads no byte near the object to find that out.
 *
 * Of the pages that nobody has, these are known:
 *
 *   free      nobody has it
 *   resident  it is free, and its memory may be there.  Pages that were given back, or never
 *             touched, are not
 *   recent    it is resident, and became free since the last look (runs/purge.h)
 *   closed    it is free and not accessible: never used so far, or taken away by a purge that has
 *             to return the promise of memory too
 *
 * "page" is the system's page, of which a slot has 16, 4 or 1. */
#ifndef RUNG_RUNS_WINDOW_H
#define RUNG_RUNS_WINDOW_H

#include <stdatomic.h>

#include "base/bitmap.h"
#include "base/list.h"
#include "chunk/window.h"
#include "os/os.h"
#include "runs/place.h"
#include "runs/size_class.h"

#define RUN_SHIFT 16
#define RUN_SIZE ((size_t)1 << RUN_SHIFT)

/* Huge pages are asked for in units of this size, and given up in them. */
#define GROUP_SHIFT 21
#define GROUP ((size_t)1 << GROUP_SHIFT)

enum {
    RUNS_A_WINDOW = 1 << (WINDOW_SHIFT - RUN_SHIFT),
    GROUPS_A_WINDOW = 1 << (WINDOW_SHIFT - GROUP_SHIFT),
    PAGES_A_WINDOW_MAX = 1 << (WINDOW_SHIFT - 12),
    PAGE_WORDS = PAGES_A_WINDOW_MAX / WORD_BITS,
    OBJECTS_A_RUN_MAX = 1 << (RUN_SHIFT - 4),
    OBJECT_WORDS = OBJECTS_A_RUN_MAX / WORD_BITS,
    STRIPE_WORDS = 8,
    SLOT_PAGES = RUN_BINS, /* in slot[]: not a run */
};

/* One slot that is a run; all but `bin` guarded by the lock of its size. */
struct run {
    struct link link;      /* among the runs of its size that can give */
    struct link idle_link; /* among those that have idle pages */
    uint16_t free_objects;
    uint16_t first_word;   /* no free object lies in an earlier word of the bitmap */
    uint16_t idle;         /* bit p: page p has no object that is out, and may be resident */
    uint16_t gone;         /* bit p: page p has no object that is out, and was given back */
    uint32_t idle_ms;      /* when a page last became idle */
    uint32_t gone_ms;      /* when pages were last given back */
    uint8_t bin;
    uint8_t fullness;      /* which list of its size it is in; FULL: none */
};

/* 2 MiB; written under the lock of space but for `idle`. */
struct group {
    uint16_t free_pages;
    _Atomic bool huge;      /* huge pages were asked for */
    _Atomic uint16_t idle;  /* pages idle or gone in its runs */
    uint64_t purged_us;     /* when pages of it were last given back; 0: never */
};

struct run_window {
    uint8_t slot[RUNS_A_WINDOW]; /* read without a lock: constant while any object is out */
    /* The rest is guarded by the lock of space, but for run[] and objects[]. */
    struct run_window *older;
    struct run_window *newer;
    uint8_t kind;            /* enum space_kind */
    unsigned free_pages;
    unsigned resident_pages; /* of the free ones */
    struct group group[GROUPS_A_WINDOW];
    struct places free_places;
    struct places resident_places;
    uint64_t free[PAGE_WORDS];
    uint64_t resident[PAGE_WORDS];
    uint64_t recent[PAGE_WORDS];
    uint64_t closed[PAGE_WORDS];
    uint16_t block_pages[PAGES_A_WINDOW_MAX]; /* of the large block that starts there; 0: none does.  The
                                                 highest bit: it lies in a thread's cache */
    struct run run[RUNS_A_WINDOW];
    /* Bit i of a run is set while object i is free.  Runs of few objects lie close together: words
       0-7 of all runs come first, then words 8-15 of all, and so on. */
    uint64_t objects[OBJECT_WORDS / STRIPE_WORDS][RUNS_A_WINDOW][STRIPE_WORDS];
};

enum { HEAD_RUNS = (sizeof(struct run_window) + RUN_SIZE - 1) / RUN_SIZE };

static HOT bool in_run_window(const void *mem) {
    return window_use_of(mem) == WINDOW_RUNS;
}

/* The bin of the run that mem lies in; SLOT_PAGES: it does not lie in one. */
static HOT unsigned run_bin_of(const void *mem) {
    const struct run_window *w = window_of(mem);
    return w->slot[(uintptr_t)mem >> RUN_SHIFT & (RUNS_A_WINDOW - 1)];
}

static HOT struct run *run_of(const void *mem) {
    struct run_window *w = window_of(mem);
    return &w->run[(uintptr_t)mem >> RUN_SHIFT & (RUNS_A_WINDOW - 1)];
}

static HOT char *run_start(const struct run *r) {
    struct run_window *w = window_of(r);
    return (char *)w + (size_t)(r - w->run) * RUN_SIZE;
}

static HOT uint64_t *object_word(struct run *r, size_t word) {
    struct run_window *w = window_of(r);
    return &w->objects[word / STRIPE_WORDS][r - w->run][word % STRIPE_WORDS];
}

static HOT struct group *group_of(const void *mem) {
    struct run_window *w = window_of(mem);
    return &w->group[((uintptr_t)mem & (WINDOW - 1)) >> GROUP_SHIFT];
}

/* Pages are powers of two, and dividing is slow. */
static HOT size_t whole_pages_in(size_t bytes) {
    return bytes >> __builtin_ctzl(os_facts.page);
}

static HOT size_t page_number(const void *mem) {
    return whole_pages_in((uintptr_t)mem & (WINDOW - 1));
}

static HOT char *page_start(struct run_window *w, size_t page) {
    return (char *)w + page * os_facts.page;
}

static HOT size_t pages_a_window(void) {
    return whole_pages_in(WINDOW);
}

#endif
