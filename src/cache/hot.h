/* What malloc and free read on a hit, in one place, for C and for the assembler: which cache the caller may use
 * now, and what its bins are.
 *
 *   struct hot                                     struct cpu_cache (cache/cpu_cache.h)
 *   +-----------------------------+                +-----------+
 *   | the steps of malloc's hit   |            .-> | top[bin]  | -> the object that is handed out next
 *   | the steps of free's hit     |            |   | full[bin] | -> where top may not go beyond
 *   | area, limit                 |            |   +-----------+
 *   | bin_of[request]             |            |
 *   | all[-2 .. -1]               | -> empty   |
 *   | all[number]                 | -----------'
 *   +-----------------------------+
 *
 * There is a cache a CPU, and the number is the CPU's, as the kernel writes it into the area of restartable
 * sequences that libc registered for each thread (rseq(2), Linux 4.18, glibc 2.35).  A hit is a few steps, of which
 * the last one, a single instruction, makes them count.  Before the first step the thread stores where the steps
 * are; if it loses the CPU, or a signal comes, before the last one, the kernel lets it start again.  So whoever runs
 * on a CPU has that CPU's cache for itself, without a lock and without an atomic operation, and what a thread that
 * sleeps has freed serves all others.
 *
 * Where there is nobody to restart the steps (another libc or kernel, valgrind, a sanitizer), or no need to as long
 * as the process has one thread, the area is one of the thread's own (base/self.h), and says a number that no other
 * thread has: its seat.  The steps are the same. */
#ifndef RUNG_CACHE_HOT_H
#define RUNG_CACHE_HOT_H

#include "base/rseq.h"

/* For the assembler: where things are. */
#define HOT_POP 0
#define HOT_PUSH 32
#define HOT_AREA 64
#define HOT_LIMIT 72
#define HOT_BIN_OF 80
#define HOT_BIN_OF_LENGTH 1040
#define HOT_CACHES (HOT_BIN_OF + HOT_BIN_OF_LENGTH + 16)

#define CACHE_BINS 129
#define CACHE_FULL (8 * CACHE_BINS)

/* The machines that there are steps for in assembler; elsewhere, and where a compiler has to see every access, they
   are written in C, and only ever run on a thread's own seat. */
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__) && !defined(RUNG_PLAIN_STEPS)
#define RUNG_RESTARTABLE 1
#else
#define RUNG_RESTARTABLE 0
#endif

#ifndef __ASSEMBLER__

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "runs/size_class.h"

struct cpu_cache;

/* The kernel's struct rseq_cs. */
struct steps {
    _Alignas(32) uint32_t version;
    uint32_t flags;
    uint64_t start;
    uint64_t length;
    uint64_t abort;
};

/* More CPUs, and threads with seats, than any kernel of today is built for.  The numbers of CPUs go up from 0, those
   of seats down from the end. */
enum { CACHES_MAX = 8192 };

struct hot {
    struct steps pop;
    struct steps push;
    _Atomic intptr_t area; /* where the area lies, from the thread pointer on; the threads follow at their next call */
    _Atomic size_t limit;  /* requests below it have a bin in bin_of; 0: there are no caches */
    uint8_t bin_of[HOT_BIN_OF_LENGTH];
    struct cpu_cache *_Atomic all[2 + CACHES_MAX]; /* from number -2 on: -1 and -2 say that there is none */
};

_Static_assert(offsetof(struct hot, pop) == HOT_POP && offsetof(struct hot, push) == HOT_PUSH &&
                   offsetof(struct hot, area) == HOT_AREA && offsetof(struct hot, limit) == HOT_LIMIT &&
                   offsetof(struct hot, bin_of) == HOT_BIN_OF && offsetof(struct hot, all) == HOT_CACHES - 16 &&
                   HOT_BIN_OF_LENGTH > RUN_SMALL_MAX,
               "the assembler's words for it");

extern struct hot hot HIDDEN;

static HOT struct cpu_cache *_Atomic *cache_place(int number) {
    return &hot.all[number + 2];
}

static HOT struct cpu_cache *cache_numbered(int number) {
    return atomic_load_explicit(cache_place(number), memory_order_acquire);
}

static HOT size_t hot_limit(void) {
    return atomic_load_explicit(&hot.limit, memory_order_relaxed);
}

/* The number of the cache that the calling thread may use now; negative: of none. */
static HOT int cache_number(void) {
    return rseq_number(atomic_load_explicit(&hot.area, memory_order_relaxed));
}

#endif
#endif
