// FIELD 22: malloc_usable_size is constant over a block's life; all of it may be written, and
// realloc carries all of it.
#include "check.h"
#include <malloc.h>

enum { BLOCKS = 600, ROUNDS = 40 };

static struct {
    unsigned char *mem;
    size_t usable;
} block[BLOCKS];

static unsigned char mark(size_t i, size_t k) {
    return (unsigned char)(i * 13 + k * 7 + (k >> 8));
}

static void expect_whole(size_t i, size_t usable, const char *when) {
    for (size_t k = 0; k < usable; k++)
        if (block[i].mem[k] != mark(i, k)) {
            CHECK(false, "%s: block %zu, byte %zu of %zu was overwritten", when, i, k, usable);
            return;
        }
}

static void put(size_t i, uint64_t *seed) {
    size_t limit = next_random(seed) % 32 == 0 ? 300000 : 2500;
    size_t size = next_random(seed) % limit;
    block[i].mem = next_random(seed) % 8 == 0 ? memalign((size_t)16 << next_random(seed) % 9, size)
                                              : malloc(size);
    REQUIRE(block[i].mem, "no memory for %zu bytes", size);
    block[i].usable = malloc_usable_size(block[i].mem);
    CHECK(block[i].usable >= size, "%zu of %zu bytes usable", block[i].usable, size);
    for (size_t k = 0; k < block[i].usable; k++)
        block[i].mem[k] = mark(i, k);
}

int main(void) {
    require_rung();
    uint64_t seed = seed_from_environment(7);
    for (size_t i = 0; i < BLOCKS; i++)
        put(i, &seed);
    for (int round = 0; round < ROUNDS && !check_failures; round++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            CHECK(malloc_usable_size(block[i].mem) == block[i].usable,
                  "usable size of block %zu: %zu -> %zu in round %d", i, block[i].usable,
                  malloc_usable_size(block[i].mem), round);
            expect_whole(i, block[i].usable, "others written in full");
        }
        for (int n = 0; n < BLOCKS / 3; n++) {
            size_t i = next_random(&seed) % BLOCKS;
            if (n % 4 == 0) { // grow: the bytes beyond the request count as much as those within
                size_t old = block[i].usable;
                block[i].mem = realloc(block[i].mem, old + 1 + next_random(&seed) % 3000);
                REQUIRE(block[i].mem, "realloc failed");
                expect_whole(i, old, "realloc");
            }
            free(block[i].mem);
            put(i, &seed);
        }
    }
    for (size_t i = 0; i < BLOCKS; i++)
        free(block[i].mem);
    check_heap("at the end");
    return check_result();
}
