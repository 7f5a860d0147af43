// Row E5: what realloc says about a pointer, a size or a neighbour that cannot be.
#include "corrupt.h"

static void pointer_off_by_a_word(void) {
    PLACE(mem, 100, GUARD);
    words(mem[0])[0] = 64 | PREV_INUSE;
    REQUIRE(realloc(launder((char *)mem[0] + 8), 1000), "NULL");
}

static void size_that_wraps(void) {
    PLACE(mem, LARGE, GUARD);
    *size_field(mem[0]) = ~(size_t)15 | (*size_field(mem[0]) & FLAG_BITS);
    REQUIRE(realloc(mem[0], 3000), "NULL");
}

static void old_size_below_the_smallest(void) {
    PLACE(mem, LARGE, GUARD);
    *size_field(mem[0]) = 16; // no flags: the comparison takes them for part of the size
    REQUIRE(realloc(mem[0], 3000), "NULL");
}

static void next_size_zero(void) {
    PLACE(mem, LARGE, LARGE, GUARD);
    *size_field(mem[1]) = PREV_INUSE;
    REQUIRE(realloc(mem[0], 3000), "NULL");
}

static void next_size_huge(void) {
    PLACE(mem, LARGE, LARGE, GUARD);
    *size_field(mem[1]) = (size_t)1 << 40 | PREV_INUSE;
    REQUIRE(realloc(mem[0], 100), "NULL");
}

static void growing_into_a_broken_follower(void) {
    PLACE(mem, LARGE, LARGE, GUARD);
    free(mem[1]);
    words(mem[1])[0] = (size_t)nowhere;
    REQUIRE(realloc(mem[0], 3000), "NULL");
}

static void mapped_size_not_whole_pages(void) {
    void *mem = malloc(400000);
    REQUIRE(is_mapped(mem), "400000 bytes are not a mapping of their own");
    *size_field(mem) += 16;
    REQUIRE(realloc(mem, 800000), "NULL");
}

static void mapped_by_nobody(void) {
    static size_t memory[64] __attribute__((aligned(32)));
    memory[3] = 4096 | IS_MMAPPED;
    REQUIRE(realloc(launder(&memory[4]), 100), "NULL");
}

static const struct misuse cases[] = {
    {"pointer off by a word", pointer_off_by_a_word, "realloc(): invalid pointer", 0},
    {"size that wraps", size_that_wraps, "realloc(): invalid pointer", 0},
    {"old size below the smallest", old_size_below_the_smallest, "realloc(): invalid old size", 0},
    {"next size zero", next_size_zero, "realloc(): invalid next size", 0},
    {"next size huge", next_size_huge, "realloc(): invalid next size", 0},
    {"growing into a broken follower", growing_into_a_broken_follower,
     "corrupted double-linked list", 0},
    {"mapped size not whole pages", mapped_size_not_whole_pages, "mremap_chunk(): invalid pointer",
     0},
    {"mapped by nobody", mapped_by_nobody, "mremap_chunk(): invalid pointer", 0},
};

int main(void) {
    return RUN_MISUSES(cases);
}
