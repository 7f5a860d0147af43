// Row E5: what free says about a pointer, a size or a neighbour that cannot be.
#include "corrupt.h"

static void pointer_off_by_a_word(void) {
    PLACE(mem, 100, GUARD);
    words(mem[0])[0] = 64 | PREV_INUSE;
    free(launder((char *)mem[0] + 8));
}

static void pointer_off_by_a_byte(void) {
    PLACE(mem, 100, GUARD);
    free(launder((char *)mem[0] + 1));
}

static void pointer_into_a_block(void) {
    PLACE(mem, 1000, GUARD);
    free(launder((char *)mem[0] + 64));
}

static void size_of_nothing(void) {
    PLACE(mem, 100, GUARD);
    *size_field(mem[0]) &= FLAG_BITS;
    free(mem[0]);
}

static void size_below_the_smallest(void) {
    PLACE(mem, LARGE, GUARD);
    *size_field(mem[0]) = 16 | (*size_field(mem[0]) & FLAG_BITS);
    free(mem[0]);
}

static void size_that_wraps(void) {
    PLACE(mem, LARGE, GUARD);
    *size_field(mem[0]) = ~(size_t)31 | (*size_field(mem[0]) & FLAG_BITS);
    free(mem[0]);
}

static void top_itself(void) {
    PLACE(mem, 30000, 30000);
    free(mem[1]);
    REQUIRE(chunk_size(mem[1]) > 31000, "the second block did not become part of top");
    free(launder(mem[1]));
}

static void beyond_top(void) {
    PLACE(mem, LARGE, GUARD);
    *size_field(mem[0]) += 256 << 20;
    free(mem[0]);
}

static void twice(void) {
    PLACE(mem, GUARD, LARGE, GUARD);
    free(mem[1]);
    free(launder(mem[1]));
}

// The cache is full, so the block lies in a bin; its neighbour knows that it is free.
static void twice_past_a_full_cache(void) {
    void *mem[64];
    size_t request[64];
    for (int i = 0; i < 64; i++)
        request[i] = 200;
    place(mem, request, 64);
    for (int i = 1; i < 63; i += 2)
        free(mem[i]);
    free(launder(mem[61]));
}

static void next_size_zero(void) {
    PLACE(mem, LARGE, LARGE, GUARD);
    *size_field(mem[1]) = PREV_INUSE;
    free(mem[0]);
}

static void next_size_huge(void) {
    PLACE(mem, LARGE, LARGE, GUARD);
    *size_field(mem[1]) = (size_t)1 << 40 | PREV_INUSE;
    free(mem[0]);
}

static void predecessor_of_another_size(void) {
    PLACE(mem, LARGE, LARGE, GUARD);
    free(mem[0]);
    *foot(mem[0]) -= 32;
    free(mem[1]);
}

static void follower_of_another_size(void) {
    PLACE(mem, LARGE, LARGE, GUARD);
    free(mem[1]);
    *foot(mem[1]) -= 32;
    free(mem[0]);
}

static void follower_with_broken_fd(void) {
    PLACE(mem, LARGE, LARGE, GUARD);
    free(mem[1]);
    words(mem[1])[0] = (size_t)nowhere;
    free(mem[0]);
}

static void predecessor_with_broken_bk(void) {
    PLACE(mem, LARGE, LARGE, GUARD);
    free(mem[0]);
    words(mem[0])[1] = (size_t)nowhere;
    free(mem[1]);
}

static void follower_with_broken_fd_nextsize(void) {
    PLACE(mem, LARGE, LARGE, GUARD);
    free(mem[1]);
    sort_bins();
    words(mem[1])[2] = (size_t)nowhere;
    free(mem[0]);
}

static void follower_with_broken_bk_nextsize(void) {
    PLACE(mem, LARGE, LARGE, GUARD);
    free(mem[1]);
    sort_bins();
    words(mem[1])[3] = (size_t)nowhere;
    free(mem[0]);
}

static void first_unsorted_broken(void) {
    PLACE(mem, LARGE, GUARD, LARGE, GUARD);
    free(mem[0]);
    words(mem[0])[1] = (size_t)nowhere;
    free(mem[2]);
}

static void first_small_broken(void) {
    void *mem[84];
    size_t request[84];
    for (int i = 0; i < 84; i++)
        request[i] = i % 2 ? GUARD : 500;
    place(mem, request, 84);
    for (int i = 0; i < 80; i += 2) // the first ones fill the cache, the rest goes to the bin
        free(mem[i]);
    words(mem[78])[1] = (size_t)nowhere;
    free(mem[80]);
}

static void mapped_size_not_whole_pages(void) {
    void *mem = malloc(400000);
    REQUIRE(is_mapped(mem), "400000 bytes are not a mapping of their own");
    *size_field(mem) += 16;
    free(mem);
}

static void mapped_by_nobody(void) {
    static size_t memory[64] __attribute__((aligned(32)));
    memory[3] = 4096 | IS_MMAPPED;
    free(launder(&memory[4]));
}

// A chunk in a bin has lost its NON_MAIN_ARENA flag, so a second free takes it for one of the main
// arena: what it says then depends on where that arena lies, and the three double frees are tried
// in the main arena only.
static const struct misuse cases[] = {
    {"pointer off by a word", pointer_off_by_a_word, "free(): invalid pointer", 0},
    {"pointer off by a byte", pointer_off_by_a_byte, "free(): invalid pointer", 0},
    {"pointer into a block", pointer_into_a_block, "free(): invalid size", SINCE_2_42},
    {"size of nothing", size_of_nothing, "free(): invalid size", SINCE_2_42},
    {"size below the smallest", size_below_the_smallest, "free(): invalid size", 0},
    {"size that wraps", size_that_wraps, "free(): invalid size", SINCE_2_42},
    {"top itself", top_itself, "double free or corruption (top)", MAIN_ONLY},
    {"beyond top", beyond_top, "double free or corruption (out)", MAIN_ONLY},
    {"twice", twice, "double free or corruption (!prev)", MAIN_ONLY},
    {"twice past a full cache", twice_past_a_full_cache, "double free or corruption (!prev)",
     MAIN_ONLY},
    {"next size zero", next_size_zero, "free(): invalid next size (normal)", 0},
    {"next size huge", next_size_huge, "free(): invalid next size (normal)", 0},
    {"predecessor of another size", predecessor_of_another_size,
     "corrupted size vs. prev_size while consolidating", 0},
    {"follower of another size", follower_of_another_size, "corrupted size vs. prev_size", 0},
    {"follower with broken fd", follower_with_broken_fd, "corrupted double-linked list", 0},
    {"predecessor with broken bk", predecessor_with_broken_bk, "corrupted double-linked list", 0},
    {"follower with broken fd_nextsize", follower_with_broken_fd_nextsize,
     "corrupted double-linked list (not small)", 0},
    {"follower with broken bk_nextsize", follower_with_broken_bk_nextsize,
     "corrupted double-linked list (not small)", 0},
    {"first unsorted broken", first_unsorted_broken, "free(): corrupted unsorted chunks", 0},
    {"first small broken", first_small_broken, "free(): chunks in smallbin corrupted", SINCE_2_42},
    {"mapped size not whole pages", mapped_size_not_whole_pages, "munmap_chunk(): invalid pointer",
     0},
    {"mapped by nobody", mapped_by_nobody, "munmap_chunk(): invalid pointer", 0},
};

int main(void) {
    return RUN_MISUSES(cases);
}
