// What the options do, seen from outside: each probe makes a fresh heap show one of them.
#ifndef TESTS_API_PROBE_H
#define TESTS_API_PROBE_H

#include "check.h"
#include <malloc.h>
#include <pthread.h>

static inline bool in_runs(void *mem) {
    return without_header(malloc_usable_size(mem));
}

// top_pad: what the first request takes from the system.
static inline size_t probe_first_growth(void) {
    REQUIRE(malloc(16), "no memory");
    return mallinfo2().arena;
}

// mmap_threshold and mmap_max: is the third of three blocks of `size` bytes mapped? Two may still
// fit into top.
static inline size_t probe_mapped(size_t size) {
    void *mem = NULL;
    REQUIRE(malloc(16), "no memory");
    for (int i = 0; i < 3; i++)
        mem = malloc(size);
    REQUIRE(mem, "no memory");
    return !in_runs(mem) && is_mapped(mem);
}

// tcache_count and tcache_max: how many of 100 freed blocks stay in the cache? What leaves it is
// free to mallinfo2.
static inline size_t probe_cached(size_t size) {
    static void *mem[100], *between[100];
    size_t chunk = 0;
    free(malloc(1));
    for (int i = 0; i < 100; i++) {
        mem[i] = malloc(size);
        between[i] = malloc(size + 100);
        chunk = in_runs(mem[i]) ? malloc_usable_size(mem[i]) : chunk_size(mem[i]);
    }
    REQUIRE(between[99], "no memory");
    size_t before = mallinfo2().fordblks;
    for (int i = 0; i < 100; i++)
        free(mem[i]);
    return 100 - (mallinfo2().fordblks - before) / chunk;
}

// trim_threshold: what is left of 12 MB after all is freed, in MiB.
static inline size_t probe_left(void) {
    static void *mem[200];
    for (int i = 0; i < 200; i++)
        mem[i] = malloc(60000);
    for (int i = 200; i-- > 0;)
        free(mem[i]);
    return mallinfo2().arena >> 20;
}

// perturb: the byte fresh memory is filled with, or 0 if it is not.
static inline size_t probe_fill(void) {
    unsigned char *mem = malloc(5000);
    REQUIRE(mem, "no memory");
    for (int i = 1; i < 5000; i++)
        if (mem[i] != mem[0])
            return 0;
    return mem[0];
}

static pthread_barrier_t probe_alive;

static inline void *probe_thread(void *arena) {
    void *mem = malloc(3000);
    REQUIRE(mem, "no memory");
    bool own = !in_runs(mem) && *size_field(mem) & NON_MAIN_ARENA;
    *(size_t *)arena = own ? (size_t)mem >> 26 : 0; // sub-heaps are 64 MiB apart
    pthread_barrier_wait(&probe_alive);
    return mem;
}

// arena_max: how many arenas do the main thread and five more, alive at the same time, use?
static inline size_t probe_arenas(void) {
    enum { THREADS = 5 };
    pthread_t t[THREADS];
    size_t arena[THREADS + 1] = {0}, different = 0;
    pthread_barrier_init(&probe_alive, NULL, THREADS + 1);
    REQUIRE(malloc(3000), "no memory");
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&t[i], NULL, probe_thread, &arena[i + 1]) == 0, "no thread");
    pthread_barrier_wait(&probe_alive);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i <= THREADS; i++) {
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen = seen || arena[k] == arena[i];
        different += !seen;
    }
    return different;
}

static inline size_t run_probe(const char *name) {
    if (strncmp(name, "option_", 7) == 0)
        return option_value(name + 7);
    if (strcmp(name, "first_growth") == 0)
        return probe_first_growth();
    if (strcmp(name, "mapped_100000") == 0)
        return probe_mapped(100000);
    if (strcmp(name, "mapped_500000") == 0)
        return probe_mapped(500000);
    if (strcmp(name, "mapped_40000000") == 0)
        return probe_mapped(40000000);
    if (strcmp(name, "cached_64") == 0)
        return probe_cached(64);
    if (strcmp(name, "cached_1500") == 0)
        return probe_cached(1500);
    if (strcmp(name, "cached_5000") == 0)
        return probe_cached(5000);
    if (strcmp(name, "left") == 0)
        return probe_left();
    if (strcmp(name, "fill") == 0)
        return probe_fill();
    if (strcmp(name, "arenas") == 0)
        return probe_arenas();
    REQUIRE(false, "there is no probe %s", name);
    return 0;
}

#endif
