// latency THREADS [SCALE]
//
// Stands for a service that must answer in time: the steady state of a mixed heap, whose number of live blocks
// swings between half and all of its slots, and the time of every single malloc and free. Every eighth block is
// exchanged with other threads. Reports percentiles and the largest time in nanoseconds.
//
// That another program has the processor is no allocator's doing. A slow operation during which the scheduler took
// it away counts with the processor time since the last look at that clock, LOOK_EVERY operations ago at most: too
// much rather than too little. Waiting for a lock is no such case and counts in full.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/resource.h>
#include "crew.h"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum {
    SLOTS = 60000,
    PLACES = 4096,
    STEPS = 4000000,
    SWING = 150000, // steps until the heap begins to shrink, or to grow again
    FINE_BITS = 5,  // 32 steps a doubling: a value is known to 3 %
    CELLS = 64 << FINE_BITS,
    LOOK_EVERY = 256,
    SLOW = 20000, // nanoseconds
};

static _Atomic(struct block *) places[PLACES];
static atomic_ullong histogram[CELLS];
static atomic_ullong longest, disturbed;
static size_t threads, steps;
static double ticks_a_ns;

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t ticks(void) {
#if defined(__x86_64__)
    unsigned core;
    return __rdtscp(&core);
#else
    return nanoseconds(CLOCK_MONOTONIC);
#endif
}

static double measure_ticks(void) {
    uint64_t began = nanoseconds(CLOCK_MONOTONIC), from = ticks(), lasted;
    do {
        lasted = nanoseconds(CLOCK_MONOTONIC) - began;
    } while (lasted < 20000000);
    return (double)(ticks() - from) / (double)lasted;
}

static size_t cell_of(uint64_t value) {
    if (value < 2u << FINE_BITS) {
        return (size_t)value;
    }
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - FINE_BITS;
    return ((size_t)shift << FINE_BITS) + (size_t)(value >> shift);
}

// The middle of the values that fall into the cell.
static double value_of(size_t cell) {
    if (cell < 2u << FINE_BITS) {
        return (double)cell;
    }
    unsigned shift = (unsigned)(cell >> FINE_BITS) - 1;
    uint64_t low = (uint64_t)(cell - ((size_t)shift << FINE_BITS)) << shift;
    return (double)low + (double)(1ull << shift) / 2;
}

struct record {
    uint32_t count[CELLS];
    uint64_t longest;
    uint64_t disturbed; // operations that the scheduler interrupted
    // The thread's state at the last look.
    long switches;
    uint64_t busy;
};

// Looks again. Whether the scheduler took the processor away since the last look; *busy: nanoseconds of processor
// time since then.
static int look(struct record *record, uint64_t *busy) {
    struct rusage use;
    getrusage(RUSAGE_THREAD, &use);
    uint64_t now = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    int taken = use.ru_nivcsw != record->switches;
    *busy = now - record->busy;
    record->switches = use.ru_nivcsw;
    record->busy = now;
    return taken;
}

static void note(struct record *record, uint64_t value) {
    uint64_t busy;
    if ((double)value > SLOW * ticks_a_ns && look(record, &busy)) {
        uint64_t own = (uint64_t)((double)busy * ticks_a_ns);
        record->disturbed++;
        value = own < value ? own : value;
    }
    record->count[cell_of(value)]++;
    if (value > record->longest) {
        record->longest = value;
    }
}

static struct block *timed_new(struct record *record, size_t size, uint64_t tag) {
    uint64_t begin = ticks();
    struct block *block = need(malloc(size));
    note(record, ticks() - begin);
    block->size = size;
    block->tag = tag;
    return block;
}

static uint64_t timed_free(struct record *record, struct block *block) {
    uint64_t sum = block->tag ^ block->size;
    uint64_t begin = ticks();
    free(block);
    note(record, ticks() - begin);
    return sum;
}

static size_t some_size(uint64_t *state) {
    size_t kind = between(state, 0, 255);
    return kind == 0 ? log_between(state, 15, 18) : kind < 32 ? log_between(state, 10, 15) : log_between(state, 4, 10);
}

static struct record records[CREW_MAX];

static void merge(const struct record *record) {
    for (size_t cell = 0; cell < CELLS; cell++) {
        atomic_fetch_add(&histogram[cell], record->count[cell]);
    }
    atomic_fetch_add(&disturbed, record->disturbed);
    unsigned long long seen = atomic_load(&longest);
    while (seen < record->longest && !atomic_compare_exchange_weak(&longest, &seen, record->longest)) {
    }
}

static uint64_t body(size_t number) {
    struct record *record = &records[number];
    uint64_t state = number + 1, sum = 0;
    size_t slots = SLOTS / threads;
    struct block **live = need(calloc(slots, sizeof *live));
    for (size_t step = 0; step < steps / threads; step++) {
        uint64_t busy;
        if (step % LOOK_EVERY == 0) {
            look(record, &busy);
        }
        struct block **slot = &live[between(&state, 0, slots - 1)];
        struct block *old = *slot;
        if (old && step % 8 == 0) {
            old = atomic_exchange(&places[between(&state, 0, PLACES - 1)], old);
        }
        if (old) {
            sum += timed_free(record, old);
        }
        int shrinking = step / SWING % 2 == 1;
        *slot = shrinking && step % 2 ? NULL : timed_new(record, some_size(&state), step);
    }
    for (size_t i = 0; i < slots; i++) {
        sum += live[i] ? block_free(live[i]) : 0;
    }
    free(live);
    merge(record);
    return sum;
}

static void report(void) {
    static const struct {
        const char *name;
        double share;
    } wanted[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};
    unsigned long long total = 0, below = 0;
    for (size_t cell = 0; cell < CELLS; cell++) {
        total += histogram[cell];
    }
    size_t next = 0;
    for (size_t cell = 0; cell < CELLS; cell++) {
        below += histogram[cell];
        while (next < sizeof wanted / sizeof wanted[0] && (double)below >= wanted[next].share * (double)total) {
            figure(wanted[next++].name, value_of(cell) / ticks_a_ns);
        }
    }
    figure("max", (double)longest / ticks_a_ns);
    figure("operations", (double)total);
    figure("disturbed", (double)disturbed);
}

int main(int argc, char **argv) {
    threads = argc > 1 ? (size_t)atoi(argv[1]) : 0;
    steps = scaled(STEPS, argc, argv, 2);
    if (threads < 1) {
        fprintf(stderr, "usage: latency THREADS [SCALE]\n");
        return 2;
    }
    ticks_a_ns = measure_ticks();
    uint64_t sum = crew_run(threads, body);
    for (size_t i = 0; i < PLACES; i++) {
        struct block *left = atomic_load(&places[i]);
        sum += left ? block_free(left) : 0;
    }
    report();
    return finish(sum);
}
