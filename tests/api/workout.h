// A random series of calls through a given set of functions: every byte of every block is checked,
// and what the calls returned is summed up, so that two runs can be compared.
#ifndef TESTS_API_WORKOUT_H
#define TESTS_API_WORKOUT_H

#include "check.h"
#include <malloc.h>

struct allocator {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t);
    size_t (*usable_size)(void *);
};

static const struct allocator the_allocator
    __attribute__((unused)) = {malloc, free, calloc, realloc, memalign, malloc_usable_size};

enum { WORKOUT_BLOCKS = 200 };

struct workout {
    const struct allocator *with;
    uint64_t state; // of the generator
    uint64_t sum;
    struct {
        unsigned char *mem;
        size_t size;
    } block[WORKOUT_BLOCKS];
};

static inline void workout_verify(const unsigned char *mem, size_t from, size_t to,
                                  unsigned char want, const char *what) {
    for (size_t i = from; i < to; i++)
        if (mem[i] != want) {
            CHECK(false, "%s: byte %zu of a block of %zu is %#x, not %#x", what, i, to, mem[i],
                  want);
            return;
        }
}

static inline void workout_step(struct workout *w) {
    size_t i = next_random(&w->state) % WORKOUT_BLOCKS;
    unsigned char *old = w->block[i].mem, mark = (unsigned char)(i + 1);
    size_t old_size = w->block[i].size, size = next_random(&w->state) % 1500;
    unsigned how = next_random(&w->state) % 16, what = next_random(&w->state) % 5;
    if (how == 0)
        size = next_random(&w->state) % 300000;
    else if (how == 1)
        size = 1500 + next_random(&w->state) % 20000;
    if (old)
        workout_verify(old, 0, old_size, mark, "live block");
    unsigned char *mem = NULL;
    if (what == 0 && old) {
        mem = w->with->realloc(old, size + 1);
        REQUIRE(mem, "realloc to %zu failed: errno %d", size + 1, errno);
        size++;
        workout_verify(mem, 0, old_size < size ? old_size : size, mark, "after realloc");
    } else {
        w->with->free(old);
        if (what == 1) {
            mem = launder(w->with->calloc(1, size));
            REQUIRE(mem, "calloc of %zu failed: errno %d", size, errno);
            workout_verify(mem, 0, size, 0, "after calloc");
        } else if (what == 2) {
            mem = launder(w->with->memalign((size_t)16 << how % 9, size));
            CHECK((uintptr_t)mem % ((size_t)16 << how % 9) == 0, "memalign gave %p", (void *)mem);
        } else if (what != 3) {
            mem = w->with->malloc(size);
        }
        REQUIRE(mem || what == 3, "no memory for %zu bytes: errno %d", size, errno);
    }
    mem = launder(mem);
    size_t usable = mem ? w->with->usable_size(mem) : 0;
    CHECK(!mem || usable >= size, "usable size %zu of a block of %zu", usable, size);
    // The sum takes the requests and the failures, not addresses and rounding, which may differ
    // between runs.
    w->sum = (w->sum ^ (mem ? size + 1 : 0)) * 1099511628211u;
    w->block[i].mem = mem;
    w->block[i].size = mem ? size : 0;
    if (mem)
        memset(mem, mark, size);
}

static inline void workout_end(struct workout *w) {
    for (size_t i = 0; i < WORKOUT_BLOCKS; i++) {
        if (w->block[i].mem)
            workout_verify(w->block[i].mem, 0, w->block[i].size, (unsigned char)(i + 1),
                           "at the end");
        w->with->free(w->block[i].mem);
        w->block[i].mem = NULL;
    }
}

// The whole of it; the block table lives on the caller's stack.
static inline uint64_t work_out(const struct allocator *with, uint64_t seed, int steps) {
    struct workout w = {.with = with, .state = seed, .sum = 14695981039346656037u};
    for (int i = 0; i < steps; i++)
        workout_step(&w);
    workout_end(&w);
    return w.sum;
}

// One block of every size class: the caches' classes, the bins', a large one, a mapping; and an
// aligned one.
static inline void use_every_class(void) {
    static const size_t larger[] = {2000, 5000, 12000, 40000, 100000, 130000, 200000, 1000000};
    unsigned char *mem[66 + sizeof larger / sizeof *larger];
    size_t n = 0, count = sizeof mem / sizeof *mem;
    for (size_t size = 8; size <= 1048; size += 16)
        mem[n++] = malloc(size);
    for (size_t i = 0; i < sizeof larger / sizeof *larger && n < count; i++)
        mem[n++] = malloc(larger[i]);
    for (size_t i = 0; i < n; i++) {
        REQUIRE(mem[i], "no memory for block %zu", i);
        memset(mem[i], (int)i, malloc_usable_size(mem[i]));
    }
    for (size_t i = 0; i < n; i++) {
        workout_verify(mem[i], 0, malloc_usable_size(mem[i]), (unsigned char)i, "every class");
        free(mem[i]);
    }
    void *aligned = memalign(4096, 100);
    REQUIRE(aligned, "no aligned memory");
    free(aligned);
}

#endif
