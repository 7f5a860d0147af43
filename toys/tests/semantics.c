/* A toy against what the C standard says of malloc, free, calloc and realloc, and a free list
 * against what its toy says of it. The toy runs beside the libc's malloc, so it may be built with
 * sanitizers.
 *
 * usage: semantics-TOY [SEED] */
#define _GNU_SOURCE
#include "../toy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#pragma weak toy_each_free /* bump has no free list */

#define CHECK(condition) check(condition, #condition, __LINE__)

static void check(int holds, const char *condition, int line) {
    if (!holds) {
        printf("line %d: %s does not hold\n", line, condition);
        exit(1);
    }
}

static uint64_t random_state;

static size_t random_below(size_t bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state >> 16) % bound;
}

/* What the free list must be at any moment. */
static const char *previous_end;
static size_t free_chunks, free_bytes;

static void check_free_chunk(const void *chunk, size_t size) {
    CHECK(size >= 16 && size % 16 == 0);
    CHECK((uintptr_t)chunk % 16 == 0);
    CHECK((const char *)chunk >
          previous_end); /* in order, apart, and not touching: those would have been joined */
    previous_end = (const char *)chunk + size;
    free_chunks++;
    free_bytes += size;
}

static void check_free_list(void) {
    previous_end = NULL;
    free_chunks = free_bytes = 0;
    if (toy_each_free != NULL)
        toy_each_free(check_free_chunk);
    CHECK(previous_end <= (char *)sbrk(0));
}

/* Every block is full of its own number; whoever else writes into it is found out. */
#define BLOCKS 300
static struct {
    unsigned char *mem;
    size_t size;
} blocks[BLOCKS];

static void check_block(unsigned i, size_t bytes, const unsigned char *mem) {
    for (size_t at = 0; at < bytes; at++)
        CHECK(mem[at] == (unsigned char)i);
}

static void own(unsigned i, void *mem, size_t size) {
    CHECK(mem != NULL && (uintptr_t)mem % 16 == 0);
    blocks[i].mem = mem;
    blocks[i].size = size;
    memset(mem, (int)(unsigned char)i, size);
}

/* Mostly small; sometimes past the size from which toy 4 maps, and past the one from which toy 3
 * trims. */
static size_t random_size(void) {
    switch (random_below(40)) {
    case 0:
        return random_below(400 * 1024);
    case 1:
        return 0;
    default:
        return random_below(2000);
    }
}

static void let_go(unsigned i) {
    check_block(i, blocks[i].size, blocks[i].mem);
    toy_free(blocks[i].mem);
    blocks[i].mem = NULL;
    blocks[i].size = 0;
}

static void resize(unsigned i) {
    size_t size = random_size() + 1;
    size_t common = size < blocks[i].size ? size : blocks[i].size;
    void *mem = toy_realloc(blocks[i].mem, size);
    check_block(i, common, mem);
    own(i, mem, size);
}

static void allocate(unsigned i) {
    size_t size = random_size();
    if (random_below(2) == 0) {
        own(i, toy_malloc(size), size);
        return;
    }
    size_t count = 1 + random_below(7);
    unsigned char *mem = toy_calloc(count, size);
    CHECK(mem != NULL);
    for (size_t at = 0; at < count * size; at++)
        CHECK(mem[at] == 0);
    own(i, mem, count * size);
}

static void shuffle(unsigned steps, int foreign_sbrk) {
    for (unsigned step = 0; step < steps; step++) {
        unsigned i = (unsigned)random_below(BLOCKS);
        if (blocks[i].mem == NULL)
            allocate(i);
        else if (random_below(3) == 0)
            resize(i);
        else
            let_go(i);
        if (foreign_sbrk && random_below(200) == 0)
            CHECK(sbrk(24) !=
                  (void *)-1); /* somebody else moves the break, to a place that suits nobody */
        check_free_list();
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        if (blocks[i].mem != NULL)
            let_go(i);
    check_free_list();
}

static void check_refusals(void) {
    volatile size_t too_large[] = {SIZE_MAX, SIZE_MAX - 15, (size_t)PTRDIFF_MAX + 1, PTRDIFF_MAX,
                                   PTRDIFF_MAX - 40};
    char *mem = toy_malloc(10);
    CHECK(mem != NULL);
    memcpy(mem, "unchanged", 10);
    for (size_t i = 0; i < sizeof too_large / sizeof too_large[0]; i++) {
        errno = 0;
        CHECK(toy_malloc(too_large[i]) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(toy_calloc(too_large[i], 1) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(toy_realloc(mem, too_large[i]) == NULL && errno == ENOMEM);
    }
    errno = 0;
    CHECK(toy_calloc(SIZE_MAX / 2, 3) == NULL && errno == ENOMEM);
    CHECK(toy_calloc((size_t)1 << 33, (size_t)1 << 31) == NULL); /* the product is 0 in 64 bits */
    CHECK(memcmp(mem, "unchanged", 10) == 0);
    toy_free(mem);
}

static void check_corners(void) {
    char *a = toy_malloc(0), *b = toy_malloc(0);
    CHECK(a != NULL && b != NULL && a != b);
    toy_free(NULL);
    CHECK(toy_realloc(a, 0) == NULL);
    toy_free(b);
    char *c = toy_realloc(NULL, 5);
    CHECK(c != NULL);
    toy_free(c);
}

/* Somebody else moves the break to a place that suits nobody, and then the toy has to grow its
 * heap from there. */
static void check_foreign_break(void) {
    char *foreign = sbrk(8);
    CHECK(foreign != (char *)-1);
    memset(foreign, 'f', 8);
    unsigned count = 0;
    while ((char *)sbrk(0) == foreign + 8) {
        CHECK(count < BLOCKS);
        own(count++, toy_malloc(100 * 1024), 100 * 1024);
    }
    char *last = sbrk(8);
    memset(last, 'f', 8);
    while (count > 0)
        let_go(--count);
    check_free_list();
    CHECK((char *)sbrk(0) ==
          last + 8); /* what was freed does not reach the break, so it stays where it is */
    CHECK(memcmp(foreign, "ffffffff", 8) == 0 && memcmp(last, "ffffffff", 8) == 0);
}

#ifdef TOY_MAPS_FROM
static int in_heap(const char *start, const char *mem) {
    return mem >= start && mem < (char *)sbrk(0);
}

/* Which blocks are mapped, that all of them is usable, and that all of it is gone afterwards. */
static void check_mapped(const char *start) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), header = 16, size = 3 * TOY_MAPS_FROM - header;
    char *below = toy_malloc(TOY_MAPS_FROM - 2 * header),
         *from = toy_malloc(TOY_MAPS_FROM - header);
    CHECK(in_heap(start, below) && !in_heap(start, from));
    toy_free(below);
    toy_free(from);

    char *mem = toy_malloc(size); /* fills its pages to the last byte */
    memset(mem, 'm', size);
    CHECK(toy_realloc(mem, size) == mem);
    char *moved = toy_realloc(mem, size + 1); /* a page more */
    CHECK(moved != mem && moved[0] == 'm' && moved[size - 1] == 'm');
    toy_free(moved);
    for (size_t at = 0; at < size + header + page; at += page) {
        errno = 0;
        CHECK(msync(moved - header + at, page, MS_ASYNC) == -1 && errno == ENOMEM); /* not mapped */
    }
}
#endif

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
    printf("seed %" PRIu64 "\n", seed);
    fflush(stdout); /* and stdio has its buffer before the break is looked at */
    random_state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;

    char *start = sbrk(0);
    check_corners();
    check_refusals();
    shuffle(8000, 0);
    if (toy_each_free != NULL) {
        /* Nobody else moved the break: all is one chunk again, from where the heap began to where
         * it ends. */
        CHECK(free_chunks == 1);
        CHECK(previous_end == (char *)sbrk(0));
        CHECK(free_bytes == (size_t)(previous_end - start));
    }
    check_foreign_break();
    shuffle(4000, 1);
#ifdef TOY_MAPS_FROM
    check_mapped(start);
#endif
    return 0;
}
