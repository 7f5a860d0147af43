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
 * Every byte of address space that is Rung's and accessible is in exactly one of the fields up to
 * metadata_untouched but the mapped ones; `accessible` is their sum.  `resident` is what the kernel's Rss of them is: without
 * free_purged, metadata_untouched and absent. */
struct rung_stats {
    size_t live;          /* blocks the program holds, in arenas and runs: what they take there */
    size_t mapped;        /* blocks that have a mapping of their own; part of no sum */
    size_t mapped_chunks; /* how many */
    size_t mapped_kept;   /* freed mappings that wait for reuse, and may be resident; part of no sum */
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

/* Walks over every arena, all runs and the calling thread's cache and checks their invariants.  Returns how many of
   them are unsound, and writes a line on stderr for each.  Takes each arena's lock for the whole of its walk: for
   tests.  Not for signal handlers, which may have interrupted what changes the cache. */
int rung_heap_check(void);

/* The value of an option by the name it has in `rung tunables`, as it is in force now; 0 for an
   unknown name. */
size_t rung_option(const char *name);

/* ---- limits ----
 *
 * What is compared with them is rung_counter("footprint"): the memory that the library has from the kernel and
 * that may be resident, whether the program uses it or not.  They are the options soft_limit and hard_limit,
 * and can be changed at any time; 0 is no limit. */

/* The nearer the footprint comes to the limit, the less free memory stays resident.  What takes it beyond
   succeeds; then everything that is free is given back, and if that is not enough, the function of
   rung_on_soft_limit() is called. */
void rung_set_soft_limit(size_t bytes);

/* An allocation that would take the footprint beyond the limit gives everything that is free back to the
   kernel, and when that is not enough returns NULL with errno ENOMEM.  Whatever the program frees is usable
   again.  A limit below the footprint takes nothing away. */
void rung_set_hard_limit(size_t bytes);

/* f(used, arg) is called when the footprint, `used`, has exceeded the soft limit and giving free memory back has
   not helped: once, until it was clearly below the limit again (by a sixteenth) and exceeds it anew.  NULL: nothing is called.
   It is called within malloc, calloc, realloc or an aligned allocation of the thread that exceeded the
   limit, with no lock of the library held, but with whatever lock the caller of malloc holds.  It may
   allocate and free, and is not called again meanwhile, in this or any other thread.  It must return.
   Set it before other threads allocate. */
void rung_on_soft_limit(void (*f)(size_t used, void *arg), void *arg);

/* Option purge_thread.  on: starts a thread that gives back free memory which nobody has wanted for
   purge_delay, also while the program calls nothing; in the child of a fork it starts by itself when it is needed.
   0: ends it, and when this returns it is gone.  0 on success, -1 and errno EAGAIN when there is no thread
   to be had.  Not for signal handlers. */
int rung_purge_thread(int on);

/* "0.1.0" */
const char *rung_version(void);

#ifdef __cplusplus
}
#endif

#endif
