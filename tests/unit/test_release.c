/* A chunk comes back: merging, where it goes, when memory is given back (rows A2, D5). */
#include <string.h>

#include "arena/bin.h"
#include "arena/release.h"
#include "arena/top.h"
#include "unit.h"

enum { N = 6 };

static size_t free_chunks(void) {
    return rung_mallinfo2().ordblks - 1; /* without top */
}

/* Every order of freeing three neighbours ends in one free chunk. */
static void test_merging_in_every_order(void **state) {
    (void)state;
    without_cache();
    const size_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t size = 20; size <= 2000; size *= 10) {
        for (size_t i = 0; i < 6; i++) {
            char *p[3];
            void *before = rung_malloc(size), *behind;
            take((void **)p, 3, size);
            behind = rung_malloc(size);
            size_t was = free_chunks();
            for (size_t k = 0; k < 3; k++) {
                rung_free(p[orders[i][k]]);
                assert_sound();
            }
            assert_int_equal(free_chunks(), was + 1);
            struct chunk *c = chunk_of_mem(p[0]);
            assert_int_equal(chunk_size(c), (size_t)(p[2] - p[0]) + (size_t)(p[1] - p[0]));
            assert_int_equal(foot_of_prev(chunk_next(c)), chunk_size(c)); /* row A2 */
            assert_false(prev_inuse(chunk_next(c)));
            rung_free(before);
            rung_free(behind);
            assert_sound();
        }
    }
}

/* All of them free: one top, nothing in the bins. */
static void test_merging_into_top(void **state) {
    (void)state;
    without_cache();
    for (int reverse = 0; reverse < 2; reverse++) {
        void *p[N];
        take(p, N, 500);
        for (size_t i = 0; i < N; i++)
            rung_free(p[reverse ? N - 1 - i : i]);
        assert_int_equal(free_chunks(), 0);
        assert_int_equal(top_size(&main_arena), main_arena.system);
        assert_sound();
    }
}

/* Small ones go to their bin at once, others to the unsorted list. */
static void test_destination(void **state) {
    (void)state;
    without_cache();
    void *p[5];
    take(p, 5, 1000);
    rung_free(p[1]);
    assert_ptr_equal(bin_head(&main_arena.bins, 63)->next, &chunk_of_mem(p[1])->link);
    assert_true(list_empty(unsorted(&main_arena.bins)));
    rung_free(p[2]); /* 2016 together */
    assert_true(list_empty(bin_head(&main_arena.bins, 63)));
    assert_ptr_equal(unsorted(&main_arena.bins)->next, &chunk_of_mem(p[1])->link);
    assert_sound();
}

/* Row D5: less than 64 KiB merged does not even look at top. */
static void test_trim_gate_of_the_merged_size(void **state) {
    (void)state;
    without_cache();
    assume(OPT_TRIM_THRESHOLD, 0);
    assume(OPT_TOP_PAD, 0);
    void *p[3];
    take(p, 3, 100000);
    /* Nothing behind p[2] but a top of less than a page: freeing it merges with top. */
    void *tiny = rung_malloc(16);
    rung_free(p[1]); /* 100,000 bytes in the middle: the attempt finds a top that has nothing to give */
    size_t system = main_arena.system;
    rung_free(p[0]);
    assert_int_equal(main_arena.system, system);
    rung_free(p[2]);
    assert_int_equal(main_arena.system, system); /* tiny is behind it */
    rung_free(tiny);                             /* everything is top, and all but a page goes */
    assert_true(main_arena.system <= 8192);
    assert_sound();
    /* 60,000 bytes into top: below the gate. */
    void *q = rung_malloc(60000);
    system = main_arena.system;
    rung_free(q);
    assert_int_equal(main_arena.system, system);
    /* 65,520 with top's rest: above it. */
    void *r = rung_malloc(65536);
    rung_free(r);
    assert_true(main_arena.system <= 8192);
    assert_sound();
}

static void test_trim_gate_of_top(void **state) {
    (void)state;
    without_cache();
    assume(OPT_MMAP_MAX, 0);
    assume(OPT_TRIM_THRESHOLD, 1000000);
    void *p[3];
    take(p, 3, 300000);
    rung_free(p[2]);
    rung_free(p[1]);
    size_t system = main_arena.system;
    assert_true(top_size(&main_arena) < 1000000);
    assert_int_equal(system, main_arena.system_max);
    rung_free(p[0]); /* 900,000 and the pad: over the threshold */
    assert_true(main_arena.system < system);
    assert_int_equal(main_arena.system_max, system);
    assert_sound();
}

/* ---- misuse ---- */

static void *block;

static void free_top(void) {
    rung_free(mem_of_chunk(main_arena.top));
}
static void free_twice(void) {
    rung_malloc(2000); /* so that the second is not top */
    rung_free(block);
    rung_free(block);
}
static void free_past_the_end(void) {
    chunk_set_head(chunk_of_mem(block), (size_t)1 << 30 | PREV_INUSE);
    rung_free(block);
}
static void free_before_nonsense(void) {
    rung_malloc(16);
    chunk_set_head(chunk_next(chunk_of_mem(block)), PREV_INUSE);
    rung_free(block);
}
static void free_with_wrong_foot(void) {
    void *next = rung_malloc(2000);
    rung_malloc(16);
    rung_free(block);
    chunk_of_mem(next)->foot -= 16;
    rung_free(next);
}
static void free_misaligned(void) {
    rung_free((char *)block + 8);
}
static void free_wrapping(void) {
    chunk_set_head(chunk_of_mem(block), (SIZE_MAX & ~(size_t)15) | PREV_INUSE);
    rung_free(block);
}

static void test_misuse(void **state) {
    (void)state;
    without_cache();
    block = rung_malloc(2000);
    assert_dies(free_top, "double free or corruption (top)\n");
    assert_dies(free_twice, "double free or corruption (!prev)\n");
    assert_dies(free_past_the_end, "double free or corruption (out)\n");
    assert_dies(free_before_nonsense, "free(): invalid next size (normal)\n");
    assert_dies(free_with_wrong_foot, "corrupted size vs. prev_size while consolidating\n");
    assert_dies(free_misaligned, "free(): invalid pointer\n");
    assert_dies(free_wrapping, "free(): invalid size\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merging_in_every_order),
        cmocka_unit_test(test_merging_into_top),
        cmocka_unit_test(test_destination),
        cmocka_unit_test(test_trim_gate_of_the_merged_size),
        cmocka_unit_test(test_trim_gate_of_top),
        cmocka_unit_test(test_misuse),
    };
    return UNIT_RUN(tests);
}
