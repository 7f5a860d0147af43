/* Where everything starts from, for whoever looks at the process from outside (`rung stat`): found by
 * name in the file that the library was loaded from.
 *
 * What it leads to is the library's own structures as they are, so only a `rung` that was built from the
 * same sources understands them.  `layout` tells. */
#ifndef RUNG_REPORT_VIEW_H
#define RUNG_REPORT_VIEW_H

#include "arena/heap.h"
#include "arena/top.h"
#include "base/counter.h"
#include "cache/cpu_cache.h"
#include "cache/depot.h"
#include "cache/tcache.h"
#include "chunk/meta.h"
#include "life/thread.h"
#include "options/options.h"
#include "os/os.h"
#include "runs/space.h"

#define VIEW_NAME "rung_view"
#define VIEW_MAGIC "rung view 1"

enum { VIEW_LAYOUT = 27 };

/* The sizes and places that have to be the same on both sides. */
#define VIEW_LAYOUT_NUMBERS                                                                        \
    {                                                                                              \
        sizeof(struct arena), offsetof(struct arena, purges), offsetof(struct arena, bins), offsetof(struct arena, top),           \
            offsetof(struct arena, system), offsetof(struct arena, next), sizeof(struct heap),     \
            sizeof(struct main_pieces), sizeof(struct run_window), sizeof(struct run),             \
            offsetof(struct run, free_objects), offsetof(struct run, idle),                        \
            offsetof(struct run_window, free), offsetof(struct run_window, run), RUN_BINS,         \
            CACHE_BINS, SPACE_KINDS, sizeof(struct cpu_cache), offsetof(struct cpu_cache, bin), sizeof(struct tcache), \
            sizeof(struct thread_record), RECORD_BUCKETS, sizeof(struct os_facts),                 \
            sizeof(struct meta_block), sizeof(struct depot_view), COUNTER_COUNT, OPTION_COUNT                                 \
    }

struct rung_view {
    char magic[16];
    char version[16];
    uint32_t view_bytes;
    uint32_t layout[VIEW_LAYOUT];
    /* The addresses of: */
    const void *started;         /* _Atomic bool */
    const void *facts;           /* struct os_facts */
    const void *main_arena;      /* struct arena, the first of the ring */
    const void *main_pieces;     /* struct main_pieces */
    const void *windows;         /* struct space_windows, one a kind */
    const void *records;         /* struct thread_record *, RECORD_BUCKETS of them */
    const void *tcache_inactive; /* these two are no caches */
    const void *tcache_disabled;
    const void *cpu_caches;      /* struct cpu_cache *, the first of the list */
    const void *depot;           /* struct depot_view */
    const void *meta;            /* struct meta_block *, the newest */
    const void *window_uses;     /* a byte a window of the address space */
    const void *counters;        /* size_t, COUNTER_COUNT of them */
    const void *options;         /* size_t, OPTION_COUNT of them */
    const void *option_origins;  /* unsigned char, OPTION_COUNT of them */
    const void *profile;         /* enum profile */
};

extern const struct rung_view rung_view __attribute__((visibility("default")));

#endif
