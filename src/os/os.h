/* Every system call the library makes, behind verbs.
 *
 * Contracts common to all: no verb allocates, takes a lock, calls a function that other code can
 * interpose, or changes errno (the calls are made directly).  Addresses and lengths are whole
 * pages unless stated.  `false` or NULL means that the kernel refused and nothing has changed.
 * Every call is counted (base/counter.h).
 *
 * tests/double/os_double.c is a second implementation of this file: it counts, limits memory and
 * makes the n-th call fail. */
#ifndef RUNG_OS_OS_H
#define RUNG_OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- memory ---- */

/* Readable and writable private pages, zeroed.  `huge_flags`: 0, or MAP_HUGETLB and a size code. */
void *os_map(size_t len, int huge_flags);

/* Address space that may not be touched and costs no commit charge; at `hint` if that is free. */
void *os_reserve(void *hint, size_t len);

/* Gives address space back.  Failure (the map-count limit) leaves the range as it was. */
bool os_unmap(void *start, size_t len);

/* Makes reserved pages readable and writable. */
bool os_commit(void *start, size_t len);

/* Takes pages and access away: the range is reserved again. */
bool os_decommit(void *start, size_t len);

/* Takes the pages away, keeps the range accessible; the next touch reads zeros. */
bool os_purge(void *start, size_t len);

/* Moves or resizes a mapping made by os_map; the first min(old, new) bytes are carried along. */
void *os_remap(void *start, size_t old_len, size_t new_len);

/* Makes whole pages resident before they are touched, all in one call (MADV_POPULATE_WRITE, since Linux 5.14).
   False: not all of them. */
bool os_populate(void *start, size_t len);

/* Asks for transparent huge pages in a range (start and len may be any multiple of a page). */
bool os_advise_huge(void *start, size_t len);

/* Takes that back, and keeps the kernel from making huge pages there by itself.  Some of the range may be reserved
   only. */
bool os_advise_small(void *start, size_t len);

/* Writes `name` beside the range in /proc/PID/maps, where the kernel can do it. */
void os_name(void *start, size_t len, const char *name);

/* Moves the program break by delta and returns where it was, or NULL.  Shares libc's own notion of
   the break, so that sbrk calls of the program and ours see each other.  os_break(0) only asks. */
void *os_break(intptr_t delta);

/* ---- waiting ---- */

/* Sleeps while *word == expected; wakes up spuriously at times.  timeout_us < 0: no limit.
   Returns false when the time has run out. */
bool os_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_us);
void os_wake(_Atomic uint32_t *word, int count);

/* Lets others run, for a moment. */
void os_yield(void);

/* Monotonic.  Costs no system call where the kernel can do without. */
uint64_t os_clock_us(void);

/* The same, up to about a millisecond old: for whoever asks often. */
uint64_t os_recent_us(void);

/* ---- what is read once, at start-up ---- */

struct os_facts {
    size_t page;           /* bytes */
    unsigned cpus;         /* online; at least 1 */
    unsigned usable_cpus;  /* those this process may be on, or as many as its control groups grant it
                              the time of, if that is less; at least 1 */
    bool strict_commit;    /* vm.overcommit_memory is 2 */
    bool secure;           /* AT_SECURE: setuid, setgid or file capabilities */
    bool own_break;        /* this library is the process's malloc: the break is its to move.  Beside
                              another malloc, which moves it under a lock of its own, it is not.
                              Decided in life/start.c */
    size_t thp;            /* transparent huge page, bytes; 0 when there is none */
    bool thp_on_request;   /* madvise(MADV_HUGEPAGE) has an effect ("always" or "madvise") */
    size_t hugetlb;        /* the default MAP_HUGETLB page, bytes; 0 when unknown */
};

extern struct os_facts os_facts;

/* Fills os_facts.  No failure: what cannot be read gets the value that switches the feature off.
   Called once, before any other verb, by the thread that initialises the library. */
void os_read_facts(void);

/* Reads what only the hugetlb option needs (two files in /sys and /proc); called at start-up too,
   when that option is set. */
void os_read_huge_page_facts(void);

/* Reads usable_cpus (a system call and a few files in /proc and /sys/fs/cgroup); called at start-up too,
   when option arena_on_demand is set. */
void os_read_usable_cpus(void);

/* The smallest memory.high of the process's control groups, in bytes; 0: there is none.  Called at start-up, when
   option soft_limit_cgroup is set. */
size_t os_read_memory_high(void);

/* Whether the kernel restarts marked steps of this process's threads (rseq(2)): libc has registered an area for each.
   *area: where it lies, bytes from the thread pointer on. */
bool os_restartable(ptrdiff_t *area);

/* The kernel numbers CPUs below this; 0: it does not say.  A system call. */
size_t os_cpu_numbers(void);

/* Fills buf with random bytes without waiting for entropy; false when there are none yet. */
bool os_random(void *buf, size_t len);

/* The environment as the kernel handed it over, for calls that come before libc has set `environ`:
   NAME=value strings, each terminated, in buf.  Returns the bytes used. */
size_t os_initial_environment(char *buf, size_t cap);

/* ---- which pages are there ----

   Not part of what the double replaces: nothing is changed. */

/* Of whole pages, the bytes that are in memory (mincore); 0 as well when the kernel does not say. */
size_t os_resident(const void *start, size_t len);

/* The kernel's page, bytes; what the following count in. */
size_t os_page_map_unit(void);

/* What the kernel says of each page of a process, 0 for this one; -1: nothing. */
int os_open_page_map(int pid);

/* The entries of the n pages from page number `first` on, as /proc/PID/pagemap has them.  Returns how
   many there are. */
size_t os_read_page_map(int map, uintptr_t first, uint64_t *entries, size_t n);
void os_close_page_map(int map);

/* ---- processes and threads ---- */

int os_process_id(void);

/* The calling thread's, as ps and /proc show it; at most 15 characters. */
void os_name_thread(const char *name);

/* ---- saying something ---- */

void os_write(int fd, const char *text, size_t len);
_Noreturn void os_abort(void);

/* ---- signals (around fork) ---- */

/* A kernel signal set: 64 signals. */
void os_block_signals(uint64_t *old);

/* All but those that libc itself sends to its threads, to cancel one or to change the user of all: who waits
   for the answer of a thread that blocks them waits for ever. */
void os_block_user_signals(uint64_t *old);
void os_restore_signals(const uint64_t *old);

#endif
