// Row E5: what malloc finds on its way through the unsorted, small and large bins to top and to the
// system.
#include "corrupt.h"

static void *freed_large(void) {
    PLACE(mem, LARGE, GUARD);
    free(mem[0]);
    return mem[0];
}

static void unsorted_size_too_small(void) {
    *size_field(freed_large()) = 16 | PREV_INUSE;
    sort_bins();
}

static void unsorted_size_too_big(void) {
    *size_field(freed_large()) = (size_t)1 << 40 | PREV_INUSE;
    sort_bins();
}

static void unsorted_next_size_too_small(void) {
    *following_size(freed_large()) = 8;
    sort_bins();
}

static void unsorted_next_size_too_big(void) {
    *following_size(freed_large()) = (size_t)1 << 40;
    sort_bins();
}

static void unsorted_other_foot(void) {
    *foot(freed_large()) -= 16;
    sort_bins();
}

static void unsorted_broken_fd(void) {
    words(freed_large())[0] = (size_t)nowhere;
    sort_bins();
}

static void unsorted_broken_bk(void) {
    words(freed_large())[1] = (size_t)nowhere;
    sort_bins();
}

static void unsorted_in_use_to_its_neighbour(void) {
    *following_size(freed_large()) |= PREV_INUSE;
    sort_bins();
}

// The scan of the unsorted chunks gives up after 10,000 of them; what it left can be broken.
// `request` is then cut from a chunk of a bin, and the rest is to be put in front of the broken
// one.
static void cut_with_unsorted_left(size_t request) {
    enum { MANY = 10500 };
    static void *mem[MANY];
    for (int i = 0; i < MANY; i++) {
        mem[i] = malloc(1060);
        REQUIRE(mem[i] && malloc(40), "no memory");
    }
    for (int i = 0; i < MANY; i++)
        free(mem[i]);
    words(mem[MANY - 1])[1] = (size_t)nowhere;
    REQUIRE(malloc(request), "no memory");
}

static void cut_from_the_own_bin(void) {
    cut_with_unsorted_left(1024); // chunks of 1040 and of 1072 bytes share a large bin
}

static void cut_from_another_bin(void) {
    cut_with_unsorted_left(500);
}

static void small_broken_bk(void) {
    enum { SMALL = 500, MANY = 80 };
    void *mem[MANY];
    size_t request[MANY];
    for (int i = 0; i < MANY; i++)
        request[i] = i % 2 ? GUARD : SMALL;
    place(mem, request, MANY);
    for (int i = 0; i < MANY; i += 2)
        free(mem[i]);
    sort_bins();
    size_t key = words(mem[0])[1];
    for (int i = 0; i < MANY; i += 2)
        if (words(mem[i])[1] != key) // not cached, so in the bin
            words(mem[i])[1] = (size_t)nowhere;
    for (int i = 0; i < MANY / 2; i++)
        REQUIRE(malloc(SMALL), "no memory");
}

// Two chunks for one large bin; the first is sorted in already when `word` of it is broken, then
// the second follows.
static void sort_beside_broken(size_t first, size_t second, int word) {
    PLACE(mem, first, GUARD, second, GUARD);
    free(mem[0]);
    sort_bins();
    words(mem[0])[word] = (size_t)nowhere;
    free(mem[2]);
    sort_bins();
}

static void bigger_beside_broken_bk_nextsize(void) {
    sort_beside_broken(2050, 2080, 3);
}

static void smaller_beside_broken_bk_nextsize(void) {
    sort_beside_broken(2080, 2050, 3);
}

static void bigger_beside_broken_bk(void) {
    sort_beside_broken(2050, 2080, 1);
}

static void take_with_broken_fd(void) {
    PLACE(mem, 2080, GUARD);
    free(mem[0]);
    sort_bins();
    words(mem[0])[0] = (size_t)nowhere;
    REQUIRE(malloc(2050), "no memory");
}

static void top_size_too_big(void) {
    PLACE(mem, 30000, 30000);
    *following_size(mem[1]) |= (size_t)1 << 40;
    sort_bins();
}

static void break_moved_back(void) {
    PLACE(mem, 30000, 30000);
    REQUIRE(sbrk(-4096) != (void *)-1, "the break did not move");
    for (int i = 0; i < 20; i++)
        REQUIRE(malloc(60000), "no memory");
}

static const struct misuse cases[] = {
    {"unsorted, size too small", unsorted_size_too_small, "malloc(): invalid size (unsorted)", 0},
    {"unsorted, size too big", unsorted_size_too_big, "malloc(): invalid size (unsorted)", 0},
    {"unsorted, next size too small", unsorted_next_size_too_small,
     "malloc(): invalid next size (unsorted)", 0},
    {"unsorted, next size too big", unsorted_next_size_too_big,
     "malloc(): invalid next size (unsorted)", 0},
    {"unsorted, other foot", unsorted_other_foot,
     "malloc(): mismatching next->prev_size (unsorted)", 0},
    {"unsorted, broken fd", unsorted_broken_fd, "malloc(): unsorted double linked list corrupted",
     0},
    {"unsorted, broken bk", unsorted_broken_bk, "malloc(): unsorted double linked list corrupted",
     0},
    {"unsorted, in use to its neighbour", unsorted_in_use_to_its_neighbour,
     "malloc(): invalid next->prev_inuse (unsorted)", 0},
    {"cut from the own bin", cut_from_the_own_bin, "malloc(): corrupted unsorted chunks", 0},
    {"cut from another bin", cut_from_another_bin, "malloc(): corrupted unsorted chunks 2", 0},
    {"small, broken bk", small_broken_bk, "malloc(): smallbin double linked list corrupted", 0},
    {"bigger beside broken bk_nextsize", bigger_beside_broken_bk_nextsize,
     "malloc(): largebin double linked list corrupted (nextsize)", 0},
    {"smaller beside broken bk_nextsize", smaller_beside_broken_bk_nextsize,
     "malloc(): largebin double linked list corrupted (nextsize)", SINCE_2_42},
    {"bigger beside broken bk", bigger_beside_broken_bk,
     "malloc(): largebin double linked list corrupted (bk)", 0},
    {"take one with broken fd", take_with_broken_fd, "corrupted double-linked list", 0},
    {"top size too big", top_size_too_big, "malloc(): corrupted top size", 0},
    {"break moved back", break_moved_back, "break adjusted to free malloc space", MAIN_ONLY},
};

int main(void) {
    return RUN_MISUSES(cases);
}
