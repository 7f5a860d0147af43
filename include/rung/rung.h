/* Rung's own interface: what malloc.h has no name for.
 *
 * Programs need none of it to use Rung.  Link with -lrung, or look the functions up with dlsym to
 * use them only where Rung is preloaded. */
#ifndef RUNG_RUNG_H
#define RUNG_RUNG_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a counter or gauge; the names, units and meanings are listed in docs/counters.md and by
   `rung counters`.  0 for an unknown name.  Takes each arena's lock in turn for some of them. */
size_t rung_counter(const char *name);

/* Where the memory of the process is, in bytes unless stated.
 *
 * Every byte of address space that is Rung's and accessible is in exactly one of the first ten but the
 * mapped ones; `accessible` is their sum.  `resident` is what the kernel's Rss of them is: without
 * free_purged, metadata_untouched and absent. */
struct rung_stats {
    size_t live;          /* blocks the program holds, in arenas and runs: what they take there */
    size_t mapped;        /* blocks that have a mapping of their own; part of no sum */
    size_t mapped_chunks; /* how many */
    size_t cached_threads; /* freed blocks that threads keep for themselves */
    size_t cached_depot;   /* freed blocks on their way from thread to thread */
    size_t cached_inboxes; /* freed blocks that wait for a lock */
    size_t pinned;         /* free, but a live or cached block lies on the same page */
    size_t free_resident;  /* free whole pages that the kernel holds */
    size_t free_purged;    /* free whole pages that are accessible but not resident */
    size_t metadata_heads; /* what is known of windows and sub-heaps, as far as touched */
    size_t metadata_own;   /* Rung's own structures and tables, as far as touched */
    size_t metadata_untouched; /* the rest of metadata_heads */
    size_t absent;     /* parts of live, cached and pinned that are not resident: never touched, or swapped
                          out */
    size_t accessible;
    size_t resident;
    size_t reserved;   /* address space of windows that is not accessible */
    size_t free_kept;  /* free whole pages of runs that Rung takes for resident */
    size_t arenas;     /* how many, the main one included */
    size_t heaps;      /* how many 64 MiB windows of secondary arenas */
    size_t windows;    /* how many 64 MiB windows of runs and large blocks */
    size_t caches;     /* how many threads have a cache */
    size_t kernel_asked; /* 1; 0: /proc/self/pagemap could not be read, free_resident is what Rung takes for
                            resident, and absent is 0 */
};

/* Fills *stats.  Allocates nothing.  Takes each lock in turn and asks the kernel about every page: some
   microseconds for each MiB.  While other threads allocate, the figures are from different moments and may
   not add up; while they do not, they are exact. */
void rung_stats(struct rung_stats *stats);

/* The same with the sizes of runs and all counters, as JSON or in Prometheus' text format, into buf.  Allocates
   nothing.  Returns the length without the terminator; 0: `cap` bytes are too few, RUNG_STATS_TEXT are
   enough. */
#define RUNG_STATS_TEXT 65536
size_t rung_stats_json(char *buf, size_t cap);
size_t rung_stats_prometheus(char *buf, size_t cap);

/* Walks over every arena and checks all its invariants.  Returns the number of unsound arenas, and
   writes a line on stderr for each.  Takes each arena's lock for the whole of its walk: for tests. */
int rung_heap_check(void);

/* The value of an option by the name it has in `rung tunables`, as it is in force now; 0 for an
   unknown name. */
size_t rung_option(const char *name);

/* "0.1.0" */
const char *rung_version(void);

#ifdef __cplusplus
}
#endif

#endif
