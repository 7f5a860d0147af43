// "No growth" for tests that create and end many threads: memory after a warm-up against memory at
// the end.
#ifndef TESTS_API_GROWTH_H
#define TESTS_API_GROWTH_H

#include "check.h"
#include <malloc.h>
#include <pthread.h>

struct memory {
    long resident_kib;
    long virtual_kib;
    size_t arena; // bytes all arenas have from the system
    size_t in_use;
};

// What waits in a depot for the next thread counts as in use, and how much that is follows from who met
// whom: it goes home first.
static inline struct memory memory_now(void) {
    struct memory now = {status_kib("VmRSS"), status_kib("VmSize"), 0, 0};
    if (option_value("runs"))
        malloc_trim(0);
    struct mallinfo2 m = mallinfo2();
    now.arena = m.arena;
    now.in_use = m.uordblks;
    return now;
}

// A leak of one cache (768 bytes), of a page or of an arena a thread would show thousandfold. How
// many arenas `at_a_time` threads get by depends on who meets whom, so each may still add one: a
// map of 128 MiB and a quarter of a MiB in use.
static inline void expect_no_growth(const struct memory *before, long threads, int at_a_time) {
    size_t arenas = at_a_time > 1 ? (size_t)at_a_time : 0;
    struct memory now = memory_now();
    say("%ld threads: resident %ld -> %ld KiB, virtual %ld -> %ld KiB, arenas %zu -> %zu, in use "
        "%zu -> %zu",
        threads, before->resident_kib, now.resident_kib, before->virtual_kib, now.virtual_kib,
        before->arena, now.arena, before->in_use, now.in_use);
    CHECK(now.resident_kib - before->resident_kib < 512 + 256 * (long)arenas,
          "resident memory grew by %ld KiB", now.resident_kib - before->resident_kib);
    CHECK(now.virtual_kib - before->virtual_kib <= 65536 + 131072 * (long)arenas,
          "address space grew by %ld KiB", now.virtual_kib - before->virtual_kib);
    CHECK(now.arena <= before->arena + (256 << 10) * (arenas + 1),
          "the arenas grew from %zu to %zu bytes", before->arena, now.arena);
    // What lies in caches is in use, and with runs each CPU has one, whose budget threads may have come to need.
    CHECK(now.in_use <= before->in_use + (option_value("runs") ? 2048 << 10 : 64 << 10), "bytes in use grew from %zu to %zu",
          before->in_use, now.in_use);
}

static inline void run_threads(void *(*run)(void *), long count, int at_a_time) {
    pthread_t t[8];
    REQUIRE(at_a_time <= 8, "at most 8 at a time");
    for (long done = 0; done < count; done += at_a_time) {
        for (int i = 0; i < at_a_time; i++)
            REQUIRE(pthread_create(&t[i], NULL, run, NULL) == 0, "no thread after %ld", done);
        for (int i = 0; i < at_a_time; i++)
            pthread_join(t[i], NULL);
    }
}

#endif
