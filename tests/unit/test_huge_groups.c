/* Groups of pages that are huge, and what makes them small: at half, whole, and for a large block's sake. */
#include "runs/purge.h"

#include "base/counter.h"
#include "runs/space.h"
#include "spans.h"

#define PAGE (os_facts.page)

enum { RUNS_A_GROUP = GROUP / RUN_SIZE };

static struct group *group_at(size_t i) {
    return &space_windows[SPACE_SMALL].oldest->group[i];
}

/* Groups 1 to `groups` full of slots, in p; huge pages were asked for. */
static void begin_with_huge(char **p, size_t groups) {
    stand_still(0);
    assume(OPT_RUN_HUGE_FROM, 1);
    for (size_t i = HEAD_RUNS; i < RUNS_A_GROUP; i++)
        (void)span_slot(SPACE_SMALL);
    for (size_t i = 0; i < groups * RUNS_A_GROUP; i++)
        p[i] = span_slot(SPACE_SMALL);
    for (size_t i = 1; i <= groups; i++) {
        assert_true(group_at(i)->huge);
        assert_ptr_equal(p[(i - 1) * RUNS_A_GROUP], (char *)window_of(p[0]) + i * GROUP);
    }
    double_count_from_here();
}

static void test_a_huge_page_is_broken_at_half(void **state) {
    (void)state;
    char *p[3 * RUNS_A_GROUP];
    begin_with_huge(p, 3);
    char **group = p + RUNS_A_GROUP; /* the second */
    size_t at = 0;
    assume(OPT_RUN_KEEP, 64 * MIB);
    for (; at < RUNS_A_GROUP / 2 - 1; at++)
        span_give(group[at * 5 % RUNS_A_GROUP]);
    assert_false(purge_free_pages(0)); /* whatever may stay, half a huge page is more than nothing */
    assert_int_equal(double_bytes(VERB_PURGE) + double_bytes(VERB_ADVISE_SMALL), 0);
    assert_true(group_at(2)->huge);
    span_give(group[at * 5 % RUNS_A_GROUP]);
    at++;
    assert_true(purge_free_pages(0));
    assert_int_equal(double_calls(VERB_ADVISE_SMALL), 1);
    assert_int_equal(double_bytes(VERB_ADVISE_SMALL), GROUP);
    assert_false(group_at(2)->huge);
    assert_int_equal(double_bytes(VERB_PURGE), GROUP / 2);
    assert_int_equal(space_totals.resident_free, 0);
    for (; at < RUNS_A_GROUP; at++) { /* and now it is one no more: slot by slot */
        span_give(group[at * 5 % RUNS_A_GROUP]);
        assert_int_equal(PURGED_BY(purge_free_pages(0)), RUN_SIZE);
    }
    for (size_t i = 0; i < RUNS_A_GROUP; i++)
        group[i] = span_slot(SPACE_SMALL);
    assert_false(group_at(2)->huge);
    assert_true(group_at(1)->huge && group_at(3)->huge);
    assert_sound();
}

static void test_a_huge_page_goes_whole(void **state) {
    (void)state;
    char *p[3 * RUNS_A_GROUP];
    begin_with_huge(p, 3);
    assume(OPT_RUN_KEEP, 64 * MIB);
    for (size_t i = 0; i < RUNS_A_GROUP; i++)
        span_give(p[RUNS_A_GROUP + i]);
    for (size_t i = 0; i < 4; i++)
        span_give(p[2 * RUNS_A_GROUP + i]);
    assert_true(purge_free_pages(0));
    assert_int_equal(double_calls(VERB_ADVISE_SMALL), 0);
    assert_int_equal(double_calls(VERB_PURGE), 1);
    assert_int_equal(double_bytes(VERB_PURGE), GROUP);
    assert_true(group_at(2)->huge);
    assert_int_equal(space_totals.resident_free, 4 * RUN_SIZE);
    assert_sound();
}

/* Idle pages of its runs count as free ones, when it is about a group's half. */
static void test_idle_pages_count_for_the_half(void **state) {
    (void)state;
    char *p[RUNS_A_GROUP];
    begin_with_huge(p, 1);
    size_t slot = RUN_SIZE / PAGE;
    give_spans(p, RUNS_A_GROUP / 4);
    assert_int_equal(double_bytes(VERB_PURGE), 0);
    group_at(1)->idle = (uint16_t)(RUNS_A_GROUP / 4 * slot - 1);
    assert_false(purge_free_pages(0));
    group_at(1)->idle = (uint16_t)(RUNS_A_GROUP / 4 * slot);
    assert_true(purge_free_pages(0));
    group_at(1)->idle = 0;
    assert_int_equal(double_bytes(VERB_PURGE), RUNS_A_GROUP / 4 * RUN_SIZE);
    assert_int_equal(double_calls(VERB_ADVISE_SMALL), 1);
    assert_sound();
}

/* The kernel may refuse what is only advice. */
static void test_breaking_refused(void **state) {
    (void)state;
    char *p[RUNS_A_GROUP];
    begin_with_huge(p, 1);
    double_fail_verb(VERB_ADVISE_SMALL);
    give_spans(p, RUNS_A_GROUP / 2);
    (void)purge_free_pages(0);
    assert_true(double_failures() > 0);
    assert_false(group_at(1)->huge);
    assert_int_equal(double_bytes(VERB_PURGE), GROUP / 2);
    assert_sound();
}

/* Of the window of large blocks, four groups that one block had, all given back. */
static char *begin_with_large(uint64_t ago) {
    enum page_state s;
    stand_still(0);
    assume(OPT_RUN_HUGE_FROM, 1);
    char *p = span_try(SPACE_LARGE, 4 * GROUP, GROUP, &s);
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 0); /* its owner may touch but a part */
    span_give(p);
    (void)purge_free_pages(0);
    time_passes(ago);
    double_count_from_here();
    return p;
}

/* What was full and is wanted again whole will be full again. */
static void test_a_large_block_comes_back_huge(void **state) {
    (void)state;
    enum page_state s;
    char *p = begin_with_large(SECOND);
    assert_ptr_equal(span_try(SPACE_LARGE, 3 * GROUP + GROUP / 2, GROUP, &s), p);
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 3);
    assert_int_equal(double_bytes(VERB_ADVISE_HUGE), 3 * GROUP);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(group_of(p + i * GROUP)->huge, i < 3);
    assert_sound();
    span_give(p);
    double_count_from_here();
    (void)purge_free_pages(0);
    assert_int_equal(double_bytes(VERB_ADVISE_SMALL), 0); /* they are free whole */
    assert_int_equal(space_totals.resident_free, 0);
    assert_ptr_equal(span_try(SPACE_LARGE, GROUP + GROUP / 2, GROUP, &s), p);
    assert_int_equal(double_bytes(VERB_ADVISE_SMALL), GROUP); /* a part only shall not make the rest resident */
    assert_true(group_of(p)->huge && !group_of(p + GROUP)->huge && group_of(p + 2 * GROUP)->huge);
    assert_sound();
}

static void test_a_large_block_that_comes_late_does_not(void **state) {
    (void)state;
    enum page_state s;
    char *p = begin_with_large(KEEP_SOON_US + 1);
    assert_ptr_equal(span_try(SPACE_LARGE, 4 * GROUP, GROUP, &s), p);
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 0);
    span_give(p);
    (void)purge_free_pages(0);
    assume(OPT_RUN_HUGE_FROM, 0);
    assert_ptr_equal(span_try(SPACE_LARGE, 4 * GROUP, GROUP, &s), p);
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 0);
    span_give(p);
    (void)purge_free_pages(0);
    assume(OPT_RUN_HUGE_FROM, 1);
    double_fail_verb(VERB_ADVISE_HUGE);
    assert_ptr_equal(span_try(SPACE_LARGE, 4 * GROUP, GROUP, &s), p);
    assert_true(double_failures() > 0);
    assert_false(group_of(p)->huge);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_huge_page_is_broken_at_half, pages_of_4k),
        cmocka_unit_test_setup(test_a_huge_page_is_broken_at_half, pages_of_64k),
        cmocka_unit_test_setup(test_a_huge_page_goes_whole, pages_of_4k),
        cmocka_unit_test_setup(test_a_huge_page_goes_whole, pages_of_64k),
        cmocka_unit_test_setup(test_idle_pages_count_for_the_half, pages_of_4k),
        cmocka_unit_test_setup(test_idle_pages_count_for_the_half, pages_of_16k),
        cmocka_unit_test_setup(test_breaking_refused, pages_of_4k),
        cmocka_unit_test_setup(test_a_large_block_comes_back_huge, pages_of_4k),
        cmocka_unit_test_setup(test_a_large_block_comes_back_huge, pages_of_64k),
        cmocka_unit_test_setup(test_a_large_block_that_comes_late_does_not, pages_of_4k),
    };
    return UNIT_RUN(tests);
}
