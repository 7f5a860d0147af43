/* The main arena's memory: the break, and what stands in for it (rows D1, D4, D5). */
#include <errno.h>
#include <string.h>

#include "arena/heap.h"
#include "arena/top.h"
#include "base/counter.h"
#include "unit.h"

static size_t first_growth(size_t top_pad, size_t req) {
    assume(OPT_TOP_PAD, top_pad);
    assert_non_null(rung_malloc(req));
    assert_int_equal(double_calls(VERB_BREAK), 1);
    assert_sound();
    return double_break_bytes();
}

/* The smallest chunk, the pad, room for the next top, in whole pages. */
static void test_first_growth(void **state) {
    (void)state;
    assert_int_equal(first_growth(131072, 16), 135168);
}

static void test_first_growth_without_pad(void **state) {
    (void)state;
    assert_int_equal(first_growth(0, 16), 4096);
}

static void test_first_growth_with_a_large_pad(void **state) {
    (void)state;
    assert_int_equal(first_growth(1048576, 16), 1052672);
}

/* The last request that fits a page with the next top's header, and the first that does not. */
static void test_first_growth_at_the_edge(void **state) {
    (void)state;
    assert_int_equal(first_growth(0, 4056), 4096);
    assert_int_equal(top_size(&main_arena), 32);
}

static void test_first_growth_past_the_edge(void **state) {
    (void)state;
    assert_int_equal(first_growth(0, 4057), 8192);
}

static void test_first_growth_at_the_edge_with_pad(void **state) {
    (void)state;
    assert_int_equal(first_growth(131072, 4056), 135168);
}

static void test_first_growth_past_the_edge_with_pad(void **state) {
    (void)state;
    assert_int_equal(first_growth(131072, 4057), 139264);
}

static void test_growth_in_larger_pages(void **state) {
    (void)state;
    for (size_t page = 16384; page <= 65536; page *= 4) {
        struct os_facts facts = os_facts;
        facts.page = page;
        double_set_facts(&facts);
        size_t before = main_arena.system;
        void *p = rung_malloc(100000);
        assert_non_null(p);
        assert_true((main_arena.system - before) % page == 0);
        assert_sound();
    }
}

/* Only what top lacks: each growth is align(chunk + pad + 32 - old top). */
static void test_further_growth_counts_the_old_top(void **state) {
    (void)state;
    without_cache();
    assert_non_null(rung_malloc(16));
    for (size_t i = 1; i <= 40; i++) {
        const size_t req = 1000 * i, csz = (req + 8 + 15) / 16 * 16;
        const size_t had = top_size(&main_arena), system = main_arena.system;
        double_count_from_here();
        assert_non_null(rung_malloc(req));
        if (had >= csz + 32) {
            assert_int_equal(double_calls(VERB_BREAK), 0);
        } else {
            assert_int_equal(double_calls(VERB_BREAK), 1);
            assert_int_equal(main_arena.system - system, (csz + 131072 + 32 - had + 4095) / 4096 * 4096);
        }
        assert_int_equal(double_break_bytes(), main_arena.system);
        assert_sound();
    }
}

static void test_misaligned_first_break(void **state) {
    (void)state;
    for (size_t offset = 1; offset <= 4088; offset += 1021) {
        if (main_arena.system == 0)
            double_break_starts_at(offset);
        void *p = rung_malloc(16);
        assert_true((uintptr_t)p % 16 == 0);
        assert_int_equal(rung_heap_check(), 0);
    }
    /* The end has been moved to a page, so that pages can go back. */
    assert_true(((uintptr_t)main_arena.top + top_size(&main_arena)) % 4096 == 0);
    assert_true(((uintptr_t)os_break(0)) % 4096 == 0);
}

/* ---- somebody else moves the break ---- */

static void test_foreign_sbrk(void **state) {
    (void)state;
    without_cache();
    void *first = rung_malloc(100);
    memset(first, 1, 100);
    char *theirs = double_program_sbrk(8192);
    assert_ptr_equal(theirs, (char *)main_arena.top + top_size(&main_arena));
    memset(theirs, 0x77, 8192);
    char *old_end = theirs;
    void *second = rung_malloc(200000 - 100000);
    void *third = rung_malloc(100000);
    assert_non_null(second);
    assert_non_null(third);
    assert_true((char *)third >= old_end + 8192);
    memset(second, 2, 100000);
    memset(third, 3, 100000);
    for (size_t i = 0; i < 8192; i++)
        assert_int_equal((unsigned char)theirs[i], 0x77);
    assert_true(main_arena.contiguous);
    assert_int_equal(main_pieces.count, 2);
    assert_sound(); /* the gap counts as the arena's */
    rung_free(second);
    assert_int_equal(rung_heap_check(), 0);
    rung_free(third);
    rung_free(first);
    assert_int_equal(rung_heap_check(), 0);
    for (size_t i = 0; i < 8192; i++)
        assert_int_equal((unsigned char)theirs[i], 0x77);
}

/* What the fence leaves of the old top is used again. */
static void test_old_top_is_reused_after_a_foreign_sbrk(void **state) {
    (void)state;
    without_cache();
    char *first = rung_malloc(100);
    double_program_sbrk(4096);
    assert_non_null(rung_malloc(110000));
    assert_non_null(rung_malloc(110000)); /* past the foreign page */
    char *small = rung_malloc(5000);
    assert_true(small > first && small < first + 135168);
    assert_sound();
}

static void test_trim_stops_at_a_foreign_sbrk(void **state) {
    (void)state;
    without_cache();
    void *p = rung_malloc(120000);
    double_program_sbrk(4096);
    char *end = os_break(0);
    rung_free(p);
    assert_int_equal(rung_malloc_trim(0), 0);
    assert_ptr_equal(os_break(0), end);
    assert_int_equal(rung_heap_check(), 0);
}

static void lower_the_break_below_the_heap(void) {
    without_cache();
    rung_malloc(100);
    double_program_sbrk(-8192);
    for (int i = 0; i < 4; i++)
        rung_malloc(60000);
}

static void test_lowered_break(void **state) {
    (void)state;
    assert_dies(lower_the_break_below_the_heap, "break adjusted to free malloc space");
}

/* ---- the break is blocked ---- */

static void test_stand_in(void **state) {
    (void)state;
    without_cache();
    assert_non_null(rung_malloc(16));
    double_wall_above_break(true);
    double_count_from_here();
    for (size_t i = 1; i <= 40; i++) {
        assert_non_null(rung_malloc(100000));
        assert_sound();
    }
    /* GROUND: 40 x 100000 past a wall: 132 KiB of break would have held one; arena 4616K, nothing mapped. */
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 0);
    assert_int_equal(double_bytes(VERB_MAP) % (1 << 20), 0);
    assert_int_equal(double_calls(VERB_MAP), double_bytes(VERB_MAP) >> 20);
    assert_int_equal(main_arena.system, 135168 + double_bytes(VERB_MAP));
    assert_false(main_arena.contiguous);
}

static void test_stand_in_of_a_large_request(void **state) {
    (void)state;
    assume(OPT_MMAP_MAX, 0);
    double_wall_above_break(true);
    assert_non_null(rung_malloc(3 << 20));
    /* The request, the pad, room for the next top. */
    assert_int_equal(main_arena.system, ((3 << 20) + 16 + 131072 + 32 + 4095) / 4096 * 4096);
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 0);
    assert_sound();
}

/* The minimum does not come from the pad. */
static void test_stand_in_without_pad(void **state) {
    (void)state;
    assume(OPT_TOP_PAD, 0);
    double_wall_above_break(true);
    assert_non_null(rung_malloc(16));
    assert_int_equal(main_arena.system, 1 << 20);
    assert_sound();
}

/* Near the limit: no comfort, but the request. */
static void test_stand_in_shrinks_to_the_request(void **state) {
    (void)state;
    double_wall_above_break(true);
    double_limit(65536);
    assert_non_null(rung_malloc(16));
    assert_int_equal(main_arena.system, 4096);
    assert_sound();
}

static void test_break_shrinks_to_the_request(void **state) {
    (void)state;
    double_limit(65536);
    assert_non_null(rung_malloc(16));
    assert_int_equal(double_break_bytes(), 4096);
    assert_int_equal(double_calls(VERB_MAP), 1); /* the stand-in with the pad was tried as well */
    assert_sound();
}

static void test_break_after_a_stand_in(void **state) {
    (void)state;
    without_cache();
    double_wall_above_break(true);
    assert_non_null(rung_malloc(16));
    double_wall_above_break(false);
    void *blocks[20];
    take(blocks, 20, 100000);
    assert_true(double_break_bytes() > 0);
    assert_sound();
    give(blocks, 20);
    assert_sound();
}

static void test_no_memory_at_all(void **state) {
    (void)state;
    double_limit(0);
    double_fail_verb(VERB_RESERVE);
    errno = 0;
    assert_null(rung_malloc(16));
    assert_int_equal(errno, ENOMEM);
    assert_null(main_arena.top);
    assert_sound();
    double_limit(SIZE_MAX);
    double_heal();
    assert_non_null(rung_malloc(16));
    assert_sound();
}

/* ---- giving back ---- */

static void test_excess(void **state) {
    (void)state;
    assert_int_equal(top_excess(0, 0, 4096), 0);
    assert_int_equal(top_excess(33, 0, 4096), 0);
    assert_int_equal(top_excess(4096 + 32, 0, 4096), 0);
    assert_int_equal(top_excess(4096 + 33, 0, 4096), 4096);
    assert_int_equal(top_excess(8192, 0, 4096), 4096);
    assert_int_equal(top_excess(1 << 20, 131072, 4096), (1 << 20) - 131072 - 4096);
    assert_int_equal(top_excess(1 << 20, SIZE_MAX, 4096), 0);
    assert_int_equal(top_excess((2 << 20) + 33, 0, 2 << 20), 2 << 20);
}

static void test_trim_threshold_and_pad(void **state) {
    (void)state;
    without_cache();
    assume(OPT_MMAP_MAX, 0);
    void *p = rung_malloc(1 << 20);
    size_t grown = main_arena.system;
    rung_free(p); /* merges into a top of more than 128 KiB: all but the pad goes */
    assert_true(main_arena.system < grown);
    assert_true(top_size(&main_arena) > 131072 && top_size(&main_arena) <= 131072 + 4096 + 33);
    assert_sound();
    assert_int_equal(rung_malloc_trim(0), 1);
    assert_true(top_size(&main_arena) > 32 && top_size(&main_arena) <= 4096 + 33);
    assert_int_equal(rung_malloc_trim(0), 0);
    assert_sound();
}

/* What the kernel kept of a page is not zero when it comes back. */
static void test_calloc_after_a_trim_within_a_page(void **state) {
    (void)state;
    without_cache();
    assume(OPT_TOP_PAD, 0);
    assume(OPT_TRIM_THRESHOLD, SIZE_MAX);
    double_break_starts_at(2048);
    /* The second move of the break, which would bring its end to a page, is refused. */
    double_fail(2, 2);
    assert_non_null(rung_malloc(16));
    double_heal();
    void *p = rung_malloc(100000);
    memset(p, 0xff, 100000);
    rung_free(p);
    rung_malloc_trim(0);
    unsigned char *q = rung_calloc(100000, 1);
    assert_non_null(q);
    for (size_t i = 0; i < 100000; i++)
        if (q[i] != 0)
            fail_msg("byte %zu of a calloc is 0x%02x", i, q[i]);
    assert_int_equal(rung_heap_check(), 0);
}

/* The page that the program's data ends in, where the break starts, may have been used before. */
static void test_calloc_behind_the_programs_data(void **state) {
    (void)state;
    double_break_starts_at(2000);
    memset(double_program_sbrk(1500), 0xff, 1500);
    double_program_sbrk(-1500);
    unsigned char *p = rung_calloc(1400, 1);
    for (size_t i = 0; i < 1400; i++)
        assert_int_equal(p[i], 0);
}

/* Fresh memory is not cleared again, memory that was used is. */
static void test_calloc_knows_fresh_memory(void **state) {
    (void)state;
    without_cache();
    unsigned char *p = rung_malloc(50000);
    memset(p, 0xff, 50000);
    rung_free(p);
    unsigned char *q = rung_calloc(100000, 1);
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(q[i], 0);
    memset(q, 0xff, 100000);
    rung_free(q);
    assert_int_equal(rung_malloc_trim(0), 1);
    q = rung_calloc(120000, 1);
    for (size_t i = 0; i < 120000; i++)
        assert_int_equal(q[i], 0);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_growth),
        cmocka_unit_test(test_first_growth_without_pad),
        cmocka_unit_test(test_first_growth_with_a_large_pad),
        cmocka_unit_test(test_first_growth_at_the_edge),
        cmocka_unit_test(test_first_growth_past_the_edge),
        cmocka_unit_test(test_first_growth_at_the_edge_with_pad),
        cmocka_unit_test(test_first_growth_past_the_edge_with_pad),
        cmocka_unit_test(test_growth_in_larger_pages),
        cmocka_unit_test(test_further_growth_counts_the_old_top),
        cmocka_unit_test(test_misaligned_first_break),
        cmocka_unit_test(test_foreign_sbrk),
        cmocka_unit_test(test_old_top_is_reused_after_a_foreign_sbrk),
        cmocka_unit_test(test_trim_stops_at_a_foreign_sbrk),
        cmocka_unit_test(test_lowered_break),
        cmocka_unit_test(test_stand_in),
        cmocka_unit_test(test_stand_in_of_a_large_request),
        cmocka_unit_test(test_stand_in_without_pad),
        cmocka_unit_test(test_stand_in_shrinks_to_the_request),
        cmocka_unit_test(test_break_shrinks_to_the_request),
        cmocka_unit_test(test_break_after_a_stand_in),
        cmocka_unit_test(test_no_memory_at_all),
        cmocka_unit_test(test_excess),
        cmocka_unit_test(test_trim_threshold_and_pad),
        cmocka_unit_test(test_calloc_after_a_trim_within_a_page),
        cmocka_unit_test(test_calloc_behind_the_programs_data),
        cmocka_unit_test(test_calloc_knows_fresh_memory),
    };
    return UNIT_RUN(tests);
}
