/* Huge pages for large blocks: only once blocks are seen to be filled. */
#include "runs/filled.h"

#include <string.h>

#include "runs/purge.h"
#include "spans.h"

static struct filled f;

/* Memory of which nothing is resident yet. */
static char *untouched(void) {
    char *p = os_map(GROUP, 0);
    assert_non_null(p);
    assert_int_equal(os_resident(p, GROUP), 0);
    return p;
}

/* A block is wanted; its owner touches that many bytes of it.  Returns what was expected. */
static bool block(size_t touched) {
    char *p = untouched();
    bool expected = filled_expected(&f, p, GROUP);
    memset(p, 1, touched);
    return expected;
}

static void test_the_kernel_is_asked(void **state) {
    (void)state;
    char *p = untouched();
    memset(p + 3 * os_facts.page, 1, 2 * os_facts.page);
    assert_int_equal(os_resident(p, GROUP), 2 * os_facts.page);
    assert_int_equal(os_resident(p + 4 * os_facts.page, GROUP - 4 * os_facts.page), os_facts.page);
    memset(p, 1, GROUP);
    assert_int_equal(os_resident(p, GROUP), GROUP);
    os_unmap(p, GROUP);
    assert_int_equal(os_resident(p, GROUP), 0); /* refused */
}

static void test_two_full_ones_are_enough(void **state) {
    (void)state;
    f = (struct filled){0};
    assert_false(block(GROUP));
    assert_false(block(GROUP));
    assert_true(block(GROUP));
}

static void test_one_that_was_not_is_enough(void **state) {
    (void)state;
    f = (struct filled){0};
    for (int i = 0; i < 20; i++)
        assert_false(block(i % 2 == 0 ? GROUP : GROUP / 2));
    assert_false(block(GROUP));
    assert_false(block(GROUP));
    assert_true(block(GROUP));
    bool expected = true;
    for (int i = 0; i < 2 * 16; i++) /* sooner or later one is tried without, and found half empty */
        expected = block(GROUP / 2);
    assert_false(expected);
}

/* What is given back is looked at before it may be purged. */
static void test_given_back(void **state) {
    (void)state;
    f = (struct filled){0};
    for (int i = 0; i < 2; i++) {
        char *p = untouched();
        assert_false(filled_expected(&f, p, GROUP));
        memset(p, 1, GROUP);
        filled_before_give(&f, p - GROUP, GROUP); /* its neighbours */
        filled_before_give(&f, p + GROUP, GROUP);
        assert_ptr_equal(f.watched, p);
        filled_before_give(&f, p - os_facts.page, GROUP + 2 * os_facts.page);
        assert_null(f.watched);
        os_unmap(p, GROUP);
    }
    assert_true(filled_expected(&f, untouched(), GROUP));
}

/* ---- in the windows ---- */

static size_t huge_groups(char *p, size_t len) {
    size_t n = 0;
    for (size_t at = 0; at < len; at += GROUP)
        n += group_of(p + at)->huge;
    return n;
}

static void test_blocks_that_are_filled_get_huge_pages(void **state) {
    (void)state;
    enum page_state s;
    char *p[6];
    stand_still(0);
    assume(OPT_RUN_HUGE_FROM, 1);
    for (int i = 0; i < 6; i++) {
        p[i] = span_try(SPACE_LARGE, 3 * GROUP, GROUP, &s);
        assert_int_equal(huge_groups(p[i], 3 * GROUP), i < 2 ? 0 : 3);
        memset(p[i], 1, 3 * GROUP);
    }
    assert_sound();
}

static void test_blocks_that_are_not_get_none(void **state) {
    (void)state;
    enum page_state s;
    stand_still(0);
    assume(OPT_RUN_HUGE_FROM, 1);
    for (int i = 0; i < 6; i++) {
        char *p = span_try(SPACE_LARGE, 3 * GROUP, GROUP, &s);
        assert_int_equal(huge_groups(p, 3 * GROUP), 0);
        memset(p, 1, GROUP / 2);
    }
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 0);
    assert_sound();
}

static void test_not_in_a_small_process(void **state) {
    (void)state;
    enum page_state s;
    stand_still(0);
    assume(OPT_RUN_HUGE_FROM, 1024 * MIB);
    for (int i = 0; i < 4; i++)
        memset(span_try(SPACE_LARGE, 3 * GROUP, GROUP, &s), 1, 3 * GROUP);
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 0);
    assert_null(f.watched);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_kernel_is_asked),
        cmocka_unit_test(test_two_full_ones_are_enough),
        cmocka_unit_test(test_one_that_was_not_is_enough),
        cmocka_unit_test(test_given_back),
        cmocka_unit_test(test_blocks_that_are_filled_get_huge_pages),
        cmocka_unit_test(test_blocks_that_are_not_get_none),
        cmocka_unit_test(test_not_in_a_small_process),
    };
    return UNIT_RUN(tests);
}
