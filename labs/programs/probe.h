/* What the lab programs share.
 *
 * A lab program prints `key=value` lines and reads /proc, both without allocating: the only allocations in the
 * process are then the ones the lab is about (and libc's own, which a lab's tolerances name). Everything here is
 * async-signal-safe apart from say_malloc_info, which goes through stdout with a static buffer. */
#ifndef RUNG_LABS_PROBE_H
#define RUNG_LABS_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB ((size_t)1024)
#define MIB ((size_t)1024 * 1024)

/* A secondary arena's sub-heap starts on a boundary of this size and never exceeds it. */
#define SUBHEAP_SIZE ((size_t)64 * MIB)

/* Write one line, "key=value", at once. Longer than 4000 bytes is cut. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Write "key=v0,v1,...". */
void say_list(const char *key, const long *values, size_t count);
/* Write what malloc_info says, between the lines xml.NAME=begin and xml.NAME=end. */
void say_malloc_info(const char *name);
/* "skip=REASON" and exit status 77: the machine cannot run this measurement. */
_Noreturn void skip(const char *reason);
/* "error=REASON" and exit status 2: the program itself failed, nothing was measured. */
_Noreturn void fail(const char *reason);

/* Names the next phase for labs/programs/trace: a write to a descriptor that is never open. Without a tracer it
 * fails with EBADF and changes nothing. */
#define MARK_DESCRIPTOR 1023
void mark(const char *phase);

uint64_t now_ns(void);
/* What all threads of the process have had of the processors so far. */
uint64_t processor_ns(void);
long minor_faults(void);
size_t page_size(void);
long argument(int argc, char **argv, int index, long otherwise);

struct memory {
    long resident_kib;  /* all resident pages, exact where the kernel has smaps_rollup */
    long anonymous_kib; /* those of them with no file behind them */
    long virtual_kib;   /* addresses mapped */
};
struct memory memory_now(void);
/* Write "PREFIX.rss=", "PREFIX.anon=" and "PREFIX.vsz=", all KiB. */
void say_memory(const char *prefix);
/* How many huge pages the machine has set aside for MAP_HUGETLB. */
long huge_pages_reserved(void);
/* Keep the kernel from backing the process with huge pages, which would hide the page-sized effects. */
void no_huge_pages(void);

struct mapping {
    uintptr_t start;
    uintptr_t end;
    char permissions[5];
    bool anonymous; /* no file; a name given with PR_SET_VMA does not count as one */
    bool heap;      /* the region that brk moves */
};
/* Fill `out` with the process's mappings in address order; returns how many there are, at most `limit`. */
size_t mappings(struct mapping *out, size_t limit);
/* The secondary arenas' sub-heaps: what of each is readable and writable. */
size_t subheaps(struct mapping *out, size_t limit);

/* The sub-heap a pointer lies in, 0 for the main arena and for mapped chunks: the owner is one bit and one mask away. */
uintptr_t subheap_of(const void *mem);
/* The size field in front of a pointer: chunk size and the three flags. */
size_t header_of(const void *mem);
#define FLAG_PREV_INUSE ((size_t)1)
#define FLAG_MAPPED ((size_t)2)
#define FLAG_SECONDARY ((size_t)4)
#define HEADER_FLAGS ((size_t)7)

/* One of Rung's counters, or -1 under any other allocator. */
long allocator_counter(const char *name);

#endif
