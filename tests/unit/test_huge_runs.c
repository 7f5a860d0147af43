/* Row N17 and FIELD 18: huge pages for small objects, once there is much; and what is given back of one stays away. */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "runs/space.h"
#include "unit.h"


enum { N = 150000, SIZE = 512 };
static void *blocks[N];

static int with_defaults(void **state) {
    (void)state;
    option_use_profile(PROFILE_DEFAULT);
    return 0;
}

/* Groups of 2 MiB for which huge pages are wanted. */
static size_t huge_groups(enum space_kind kind) {
    size_t n = 0;
    for (struct run_window *w = space_windows[kind].oldest; w != NULL; w = w->newer)
        for (size_t g = 0; g < GROUPS_A_WINDOW; g++)
            n += w->group[g].huge;
    return n;
}

static void take_touched(size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        blocks[i] = rung_malloc(SIZE);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, SIZE);
    }
}

/* How many groups were taken apart.  Each window begins with the same call: the kernel shall make none unasked. */
static size_t taken_apart(void) {
    return double_calls(VERB_ADVISE_SMALL) - space_totals.windows;
}

/* A small process has none. */
static void test_not_for_a_small_heap(void **state) {
    (void)state;
    take_touched(0, 50000); /* 25 MB */
    assert_true(space_totals.system < option(OPT_RUN_HUGE_FROM));
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 0);
    rung_malloc(20 << 20); /* nor is a large block a reason */
    rung_malloc(30 << 20);
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 0);
    assert_sound();
}

/* For whole groups that are about to be filled, each once. */
static void test_for_a_large_one(void **state) {
    (void)state;
    take_touched(0, N);
    size_t beyond = space_totals.system - option(OPT_RUN_HUGE_FROM);
    assert_in_range(huge_groups(SPACE_SMALL), beyond / GROUP - 1, beyond / GROUP + 1);
    assert_int_equal(huge_groups(SPACE_LARGE), 0);
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), huge_groups(SPACE_SMALL));
    assert_int_equal(double_bytes(VERB_ADVISE_HUGE), huge_groups(SPACE_SMALL) * GROUP);
    assert_int_equal(taken_apart(), 0);
    assert_sound();
}

static void test_off(void **state) {
    (void)state;
    assume(OPT_RUN_HUGE_FROM, 0);
    take_touched(0, N);
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 0);
    assert_sound();
}

/* Pages of a huge one go only when half of it is free, and then the kernel is told first to make no huge page there
   again: otherwise it would fill the holes by itself. Where it is still wanted, nothing of it has gone. */
static void test_holes(void **state) {
    (void)state;
    take_touched(0, N);
    size_t before = huge_groups(SPACE_SMALL);
    for (size_t i = 0; i < N; i++)
        if (i / 16 % 20 != 7) /* two pages in forty stay */
            rung_free(blocks[i]);
    rung_malloc_trim(0);
    size_t purged = double_bytes(VERB_PURGE);
    assert_true(purged > N * (size_t)SIZE / 2);
    assert_true(taken_apart() > 0);
    assert_int_equal(huge_groups(SPACE_SMALL), before - taken_apart());
    for (struct run_window *w = space_windows[SPACE_SMALL].oldest; w != NULL; w = w->newer)
        for (size_t g = 0; g < GROUPS_A_WINDOW; g++) {
            size_t first = g * (GROUP / os_facts.page), n = GROUP / os_facts.page;
            size_t gone = 0;
            for (size_t p = first; p < first + n; p++)
                gone += bit_get(w->free, p) && !bit_get(w->resident, p) && !bit_get(w->closed, p);
            if (w->group[g].huge)
                assert_true(gone == 0 || gone == n);
        }
    assert_sound();
}

/* A few free pages are no reason to take a huge page apart. */
static void test_not_piecemeal(void **state) {
    (void)state;
    take_touched(0, N);
    size_t before = huge_groups(SPACE_SMALL);
    assert_true(before > 10);
    for (size_t i = 0; i < N; i++)
        if (i / 64 % 8 == 0)
            rung_free(blocks[i]); /* an eighth of the pages, spread over all */
    rung_malloc_trim(0);
    /* But for the last one, which was only begun. */
    assert_in_range(huge_groups(SPACE_SMALL), before - 1, before);
    assert_in_range(taken_apart(), 0, 1);
    assert_sound();
}

/* What is taken apart is filled with small pages when it is used again. */
static void test_used_again(void **state) {
    (void)state;
    take_touched(0, N);
    for (size_t i = 0; i < N; i++)
        if (i / 16 % 20 != 7)
            rung_free(blocks[i]);
    rung_malloc_trim(0);
    size_t huge = huge_groups(SPACE_SMALL), apart = taken_apart();
    double_count_from_here();
    assert_true(apart > 0);
    for (size_t i = 0; i < N; i++)
        if (i / 16 % 20 != 7) {
            blocks[i] = rung_malloc(SIZE);
            assert_non_null(blocks[i]);
            memset(blocks[i], 1, SIZE);
        }
    assert_int_equal(double_calls(VERB_ADVISE_HUGE), 0);
    assert_int_equal(huge_groups(SPACE_SMALL), huge);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_not_for_a_small_heap, with_defaults),
        cmocka_unit_test_setup(test_for_a_large_one, with_defaults),
        cmocka_unit_test_setup(test_off, with_defaults),
        cmocka_unit_test_setup(test_holes, with_defaults),
        cmocka_unit_test_setup(test_not_piecemeal, with_defaults),
        cmocka_unit_test_setup(test_used_again, with_defaults),
    };
    return UNIT_RUN(tests);
}
