/* The hugetlb option (row D9). */
#include <string.h>
#include <sys/mman.h>

#include "arena/huge.h"
#include "arena/mapped.h"
#include "base/counter.h"
#include "options/threshold.h"
#include "unit.h"

/* As at start-up. */
static void start_with(size_t hugetlb) {
    assume(OPT_HUGETLB, hugetlb);
    huge_init();
}

static void test_off(void **state) {
    (void)state;
    start_with(0);
    rung_malloc(16);
    rung_free(rung_malloc(8 << 20));
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 0);
    assert_int_equal(double_last_huge_flags(), 0);
}

/* 1: heaps grow and shrink in huge pages, and ask for them by madvise. */
static void test_transparent(void **state) {
    (void)state;
    start_with(1);
    assert_int_equal(huge.thp, 2 << 20);
    assert_non_null(rung_malloc(16));
    assert_int_equal(main_arena.system, 2 << 20);
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 1);
    double_count_from_here();
    void *p = rung_malloc(8 << 20);
    assert_true(is_mapped(chunk_of_mem(p)));
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 1);
    rung_malloc(200000); /* smaller than a huge page, but in top anyway */
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 1);
    assume(OPT_MMAP_MAX, 0);
    void *q = rung_malloc(5 << 20);
    assert_int_equal(main_arena.system % (2 << 20), 0);
    assert_sound();
    rung_free(q);
    assert_int_equal(main_arena.system % (2 << 20), 0);
    rung_free(p);
    assert_sound();
}

static void test_transparent_not_to_be_had(void **state) {
    (void)state;
    struct os_facts facts = os_facts;
    facts.thp_on_request = false;
    facts.thp = 2 << 20;
    double_set_facts(&facts);
    start_with(1);
    assert_non_null(rung_malloc(16));
    assert_int_equal(main_arena.system, 135168);
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 0);
}

/* GROUND: 2 without reserved huge pages: the main arena comes from 1 MiB mappings, counted as arena; nothing
   mapped; malloc_trim returns 0. */
static void test_explicit_without_reserved_pages(void **state) {
    (void)state;
    start_with(2);
    assert_non_null(rung_malloc(16));
    struct mallinfo2 m = rung_mallinfo2();
    assert_int_equal(m.arena, 1 << 20);
    assert_int_equal(m.hblks, 0);
    assert_int_equal(double_calls(VERB_BREAK), 0);
    assert_int_equal(rung_malloc_trim(0), 0);
    assert_int_equal(option(OPT_MMAP_THRESHOLD), 2 << 20);
    assert_true(thresholds_frozen());
    void *p = rung_malloc(3 << 20);
    assert_true(is_mapped(chunk_of_mem(p)));
    assert_int_equal(chunk_bytes(p) % 4096, 4080); /* ordinary pages, since there are no others */
    rung_free(p);
    assert_int_equal(option(OPT_MMAP_THRESHOLD), 2 << 20);
    assert_sound();
}

static void test_explicit_with_reserved_pages(void **state) {
    (void)state;
    start_with(2);
    double_has_huge_pages(true);
    assert_non_null(rung_malloc(16));
    assert_int_equal(double_last_huge_flags(), MAP_HUGETLB | 21 << 26);
    assert_int_equal(rung_mallinfo2().arena, 2 << 20);
    char *p = rung_malloc(3 << 20);
    assert_int_equal(counter_get(COUNT_MAPPED_BYTES), 4 << 20); /* whole huge pages */
    memset(p, 1, rung_malloc_usable_size(p));
    assert_sound();
    double_count_from_here();
    p = rung_realloc(p, 5 << 20);
    assert_int_equal(counter_get(COUNT_MAPPED_BYTES), 6 << 20);
    assert_int_equal(double_bytes(VERB_REMAP), 6 << 20);
    assert_sound();
    rung_free(p);
    assert_int_equal(counter_get(COUNT_MAPPED_BYTES), 0);
    assert_sound();
}

static void test_a_size(void **state) {
    (void)state;
    double_has_huge_pages(true);
    start_with(16 << 20);
    assert_int_equal(huge.flags, MAP_HUGETLB | 24 << 26);
    assert_true(huge.no_break);
    rung_malloc(16);
    assert_int_equal(rung_mallinfo2().arena, 16 << 20);
    assert_sound();
}

/* Pages larger than a window are for mapped chunks only; the break stays. */
static void test_gigantic_pages(void **state) {
    (void)state;
    start_with(1 << 30);
    assert_int_equal(huge.page, 1 << 30);
    assert_false(huge.no_break);
    rung_malloc(16);
    assert_int_equal(double_break_bytes(), 135168);
    assert_int_equal(option(OPT_MMAP_THRESHOLD), 131072);
}

static void test_no_page_has_that_size(void **state) {
    (void)state;
    start_with(3 << 20);
    assert_int_equal(huge.page, 0);
    start_with(2048);
    assert_int_equal(huge.page, 0);
    rung_malloc(16);
    assert_int_equal(double_break_bytes(), 135168);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_transparent),
        cmocka_unit_test(test_transparent_not_to_be_had),
        cmocka_unit_test(test_explicit_without_reserved_pages),
        cmocka_unit_test(test_explicit_with_reserved_pages),
        cmocka_unit_test(test_a_size),
        cmocka_unit_test(test_gigantic_pages),
        cmocka_unit_test(test_no_page_has_that_size),
    };
    return UNIT_RUN(tests);
}
