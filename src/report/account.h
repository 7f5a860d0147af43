/* Where every byte is: live, cached, free and resident, free and gone, pinned, or the library's own.
 *
 * The functions here work on copies, or on the structures themselves while they hold still, and reach
 * what those lead to through struct memory: the same code looks at its own process
 * (report/snapshot.c) and, in the command `rung stat`, at another one.  There nothing that is read
 * can be believed: every number is bounded before it is used, and every list has a limit. */
#ifndef RUNG_REPORT_ACCOUNT_H
#define RUNG_REPORT_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena/arena.h"
#include "cache/cpu_cache.h"
#include "cache/depot.h"
#include "cache/tcache.h"
#include "report/residency.h"
#include "runs/window.h"

/* The figures of the process; report/figures.def says what each is. */
struct account {
#define FIGURE(id, unit, help) size_t id;
#include "report/figures.def"
#undef FIGURE
};

/* One size of runs. */
struct class_account {
    size_t runs;
    size_t out;        /* objects that are live or cached */
    size_t cached;     /* of those, in threads' caches and the depot */
    size_t free;       /* objects that lie with the runs */
    size_t free_pages; /* bytes of the runs' pages without an object that is out */
    size_t pinned;     /* bytes of the others that no object that is out has */
};

/* The rows of figures.def, for printers. */
struct figure {
    const char *name;
    const char *unit;
    const char *help;
    size_t offset;
};
enum {
#define FIGURE(id, unit, help) FIGURE_##id,
#include "report/figures.def"
#undef FIGURE
    FIGURE_COUNT
};
extern const struct figure figures[FIGURE_COUNT];

static inline size_t figure_of(const struct account *a, int i) {
    return *(const size_t *)(const void *)((const char *)a + figures[i].offset);
}

/* The process that is looked at. */
struct memory {
    /* Copies len bytes; false: they are not there. */
    bool (*read)(const struct memory *m, const void *from, void *to, size_t len);
    struct residency *residency; /* NULL: the kernel is not asked, and what is not known to be gone counts
                                    as resident */
    size_t bytes; /* no more can be in it; 0: what is read can be trusted */
    void *context;
};

/* The free chunks of one bin. */
struct bin_summary {
    size_t smallest, largest;
    size_t bytes;
    size_t count;
};

/* One arena; all derived but number, main, system and system_max. */
struct arena_snapshot {
    unsigned number;
    bool main;
    size_t system, system_max;
    struct bin_summary bin[BIN_COUNT];
    size_t free_chunks; /* in bins, and top (which counts even before it exists) */
    size_t free_bytes;
    size_t top_bytes;
    size_t heaps;         /* sub-heaps; 0 for the main arena */
    size_t address_space; /* bytes of its sub-heaps in use; main: system */
    size_t committed;     /* bytes of its sub-heaps that are accessible; main: system */
};

/* Adds the arena that `from` is a copy of, or is, and that lies at `at`.  False: a list makes no sense, and
   the figures are of no use. */
bool account_arena(struct account *a, struct arena_snapshot *s, const struct memory *m,
                   const struct arena *from, const struct arena *at, const void *pieces);

/* Adds the window that `w` is a copy of, or is, and that lies at `at`.  classes: RUN_BINS of them. */
void account_window(struct account *a, struct class_account *classes, const struct memory *m,
                    const struct run_window *w, uintptr_t at);

/* Whether page number `page` of it is free, or idle in a run. */
bool account_page_is_free(const struct run_window *w, size_t page);

/* Adds a thread's cache, or a CPU's; `count` is tcache_count.  Of the bins that hold several sizes the smallest size
   counts. */
void account_tcache(struct account *a, const struct tcache *t, size_t count);
void account_cpu_cache(struct account *a, struct class_account *classes, const struct cpu_cache *c);

/* Adds what lies on the shelves, and the shelves. */
bool account_depot(struct account *a, struct class_account *classes, const struct memory *m,
                   const struct depot_view *depot);

/* Adds memory of the library's own. */
void account_own(struct account *a, const struct memory *m, const void *start, size_t bytes);

/* The same of a table that is mostly not touched: nothing counts as touched when the kernel is not asked. */
void account_table(struct account *a, const struct memory *m, const void *start, size_t bytes);

/* What was counted apart. */
void account_add(struct account *a, const struct account *part);

/* Once all is added. */
void account_close(struct account *a);

#endif
