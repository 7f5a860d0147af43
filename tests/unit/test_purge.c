/* Free pages go back to the kernel: how many, which, when, and what is learned from it. */
#include "runs/purge.h"

#include <string.h>

#include "base/counter.h"
#include "runs/space.h"
#include "spans.h"

/* So much may come together beyond what may stay (runs/purge.c). */
#define SLACK (512 * KIB)

#define PAGE (os_facts.page)

static void take_spans(char **spans, size_t n, enum space_kind kind, size_t bytes) {
    for (size_t i = 0; i < n; i++)
        spans[i] = span_take(kind, bytes);
}

/* Something that takes nothing and gives nothing, but passes by. */
static void pass_by(void) {
    span_give(span_take(SPACE_LARGE, PAGE));
}

/* Of the free pages in [start, start + bytes). */
static size_t resident_bytes(char *start, size_t bytes) {
    size_t resident = 0;
    for (size_t at = 0; at < bytes; at += PAGE)
        resident += span_page_is_resident(start + at) ? PAGE : 0;
    return resident;
}

/* ---- beyond the share ---- */

static void test_the_floor_and_the_share(void **state) {
    (void)state;
    enum { N = 40 };
    char *p[N];
    stand_still(2 * MIB);
    take_spans(p, N, SPACE_LARGE, MIB);
    for (size_t i = 0; i < N; i++) {
        span_give(p[N - 1 - i]);
        size_t may_stay = size_max(2 * MIB, space_totals.in_use / KEEP_SHARE);
        size_t given = (i + 1) * MIB;
        assert_true(space_totals.resident_free >= size_min(given, may_stay));
        assert_true(space_totals.resident_free <= size_min(given, may_stay + SLACK));
        assert_int_equal(space_totals.resident_free + double_bytes(VERB_PURGE), given);
        assert_sound();
    }
    assert_in_range(space_totals.resident_free, 2 * MIB, 2 * MIB + SLACK);
}

/* However much is beyond it, whoever gives a little waits for a little. */
static void test_bounded_steps(void **state) {
    (void)state;
    enum { N = 40, SMALL = 100 };
    char *p[N], *small[SMALL];
    stand_still(1024 * MIB);
    take_spans(small, SMALL, SPACE_LARGE, PAGE);
    take_spans(p, N, SPACE_LARGE, MIB);
    give_spans(p, N);
    assert_int_equal(space_totals.resident_free, N * MIB);
    assume(OPT_RUN_KEEP, 0);
    size_t before = space_totals.resident_free;
    for (size_t i = 0; i < SMALL; i++) {
        size_t purged = PURGED_BY(span_give(small[i]));
        assert_true(purged <= 2 * PAGE + MIB);
        assert_true(purged > 0 || before < MIB);
        assert_int_equal(space_totals.resident_free, before + PAGE - purged);
        before = space_totals.resident_free;
    }
    assert_sound();
}

/* What is low is taken first, so it stays. */
static void test_the_highest_go_first(void **state) {
    (void)state;
    enum { N = 16 };
    char *p[N];
    stand_still(1024 * MIB);
    take_spans(p, N, SPACE_LARGE, MIB);
    char *end = p[N - 1] + MIB;
    give_spans(p, N);
    for (size_t keep = N * MIB - MIB / 4; keep > 0; keep = keep > MIB ? keep - MIB : 0) {
        (void)purge_free_pages(keep);
        assert_int_equal(space_totals.resident_free, keep);
        assert_int_equal(resident_bytes(p[0], (size_t)(end - p[0])), keep);
        assert_int_equal(resident_bytes(p[0], keep), keep);
    }
    assert_sound();
}

/* What was not wanted since the last look goes before what has just come, wherever it lies. */
static void test_the_older_go_first(void **state) {
    (void)state;
    stand_still(4 * MIB);
    assume(OPT_PURGE_DELAY, 1000);
    char *a = span_take(SPACE_LARGE, 4 * MIB), *b = span_take(SPACE_LARGE, 4 * MIB);
    char *last = span_take(SPACE_LARGE, PAGE);
    span_give(a);
    time_passes(3 * SECOND);
    span_give(last);
    last = span_take(SPACE_LARGE, PAGE); /* in a */
    assert_ptr_equal(last, a);
    double_count_from_here();
    span_give(b);
    assert_int_equal(resident_bytes(b, 4 * MIB), 4 * MIB);
    assert_true(resident_bytes(a + PAGE, 4 * MIB - PAGE) <= PAGE);
    assert_sound();
}

/* ---- by age ---- */

/* Free bytes below the share, which age takes all the same; `in_use` stays. */
static void begin_with_free(char **in_use, size_t n, size_t free_bytes) {
    stand_still(0);
    take_spans(in_use, n, SPACE_LARGE, 16 * MIB);
    char *p = span_take(SPACE_LARGE, free_bytes);
    assume(OPT_PURGE_DELAY, 1000);
    pass_by(); /* looks for the first time */
    double_count_from_here();
    span_give(p);
    assert_int_equal(double_bytes(VERB_PURGE), 0);
}

static void test_aged_pages_go(void **state) {
    (void)state;
    char *in_use[8];
    begin_with_free(in_use, 8, 8 * MIB);
    for (int i = 0; i < 19; i++) { /* they came right after a look: so they may stay for nearly two delays */
        time_passes(SECOND / 10);
        pass_by();
        if (i < 9)
            assert_int_equal(double_bytes(VERB_PURGE), 0);
    }
    time_passes(SECOND / 5);
    pass_by();
    pass_by();
    assert_true(double_bytes(VERB_PURGE) >= 8 * MIB - PAGE);
    assert_true(space_totals.resident_free <= 2 * PAGE);
    assert_sound();
}

static void test_nothing_goes_before_the_delay(void **state) {
    (void)state;
    char *in_use[8];
    for (uint64_t early = 0; early < 3 * SECOND; early += SECOND / 4) {
        begin_with_free(in_use, 8, 4 * MIB);
        char *p = span_take(SPACE_LARGE, 2 * MIB);
        time_passes(early);
        span_give(p);
        double_count_from_here();
        for (int i = 0; i < 9; i++) {
            time_passes(SECOND / 10);
            pass_by();
            assert_int_equal(resident_bytes(p + PAGE, 2 * MIB - PAGE), 2 * MIB - PAGE);
        }
        give_spans(in_use, 8);
        (void)purge_free_pages(0);
    }
}

static void test_no_delay_means_never(void **state) {
    (void)state;
    char *in_use[8];
    begin_with_free(in_use, 8, 4 * MIB);
    assume(OPT_PURGE_DELAY, 0);
    time_passes(1000 * SECOND);
    pass_by();
    time_passes(1000 * SECOND);
    pass_by();
    assert_int_equal(double_bytes(VERB_PURGE), 0);
    assert_sound();
}

static void test_aged_pages_go_in_steps(void **state) {
    (void)state;
    enum { N = 24 };
    char *in_use[N];
    begin_with_free(in_use, N, 32 * MIB);
    time_passes(1100000);
    pass_by();
    time_passes(1100000);
    size_t left = 32 * MIB;
    for (int i = 0; i < 8 && left > 0; i++) {
        double_count_from_here();
        pass_by();
        size_t purged = double_bytes(VERB_PURGE);
        assert_true(purged <= 2 * 8 * MIB); /* it passes by twice */
        left -= purged;
    }
    assert_true(left <= 2 * PAGE);
    assert_sound();
}

static void test_the_floor_does_not_age(void **state) {
    (void)state;
    char *in_use[8];
    begin_with_free(in_use, 8, 8 * MIB);
    assume(OPT_RUN_KEEP, 3 * MIB);
    for (int i = 0; i < 50; i++) {
        time_passes(SECOND / 2);
        pass_by();
    }
    assert_in_range(space_totals.resident_free, 3 * MIB, 3 * MIB + PAGE);
    assert_sound();
}

/* ---- what is gone is gone ---- */

static void test_nothing_goes_twice(void **state) {
    (void)state;
    enum { N = 20 };
    char *p[N];
    stand_still(0);
    take_spans(p, N, SPACE_LARGE, MIB);
    give_spans(p, N);
    assert_int_equal(double_bytes(VERB_PURGE), N * MIB);
    assert_false(purge_free_pages(0));
    assume(OPT_PURGE_DELAY, 10);
    for (int i = 0; i < 10; i++)
        time_passes(SECOND), pass_by();
    assert_true(double_bytes(VERB_PURGE) <= N * MIB + 10 * PAGE);
    assert_sound();
}

/* Only what was taken in between is there again. */
static void test_the_gaps_alone_go(void **state) {
    (void)state;
    enum { N = 20 };
    char *p[N];
    stand_still(0);
    take_spans(p, N, SPACE_LARGE, MIB);
    char *base = p[0];
    give_spans(p, N);
    take_spans(p, N, SPACE_LARGE, MIB / 2);
    double_count_from_here();
    for (size_t i = 0; i < N; i += 2) {
        span_give(p[i]);
        (void)purge_free_pages(0);
    }
    assert_int_equal(double_calls(VERB_PURGE), N / 2);
    assert_int_equal(double_bytes(VERB_PURGE), N / 2 * MIB / 2);
    for (size_t i = 1; i < N; i += 2)
        span_give(p[i]);
    (void)purge_free_pages(0);
    assert_int_equal(resident_bytes(base, N * MIB), 0);
    assert_sound();
}

/* A page that was in use is zero when it comes back gone, and said to be. */
static void test_gone_pages_are_zero(void **state) {
    (void)state;
    enum page_state s;
    stand_still(0);
    char *p = span_take(SPACE_LARGE, 4 * MIB);
    memset(p, 0x77, 4 * MIB);
    span_give(p);
    assert_int_equal(double_bytes(VERB_PURGE), 4 * MIB);
    assert_true(purge_zeroes());
    assert_ptr_equal(span_try(SPACE_LARGE, 4 * MIB, PAGE, &s), p);
    assert_int_equal(s, PAGES_ZERO);
    for (size_t i = 0; i < 4 * MIB; i++)
        if (p[i] != 0)
            fail_msg("byte %zu is not zero", i);
}

/* ---- a kernel that refuses, and one that does nothing ---- */

static void test_refused(void **state) {
    (void)state;
    enum page_state s;
    stand_still(0);
    char *p = span_take(SPACE_LARGE, 4 * MIB);
    memset(p, 0x77, 4 * MIB);
    double_fail_verb(VERB_PURGE);
    span_give(p);
    assert_true(double_failures() > 0);
    assert_int_equal(double_bytes(VERB_DECOMMIT), 0);
    assert_false(purge_zeroes());
    assert_sound();
    double_count_from_here();
    (void)purge_free_pages(0); /* ends, and does not ask for the same again */
    assert_int_equal(double_bytes(VERB_PURGE), 0);
    assert_ptr_equal(span_try(SPACE_LARGE, 4 * MIB, PAGE, &s), p);
    assert_int_not_equal(s, PAGES_ZERO);
    assert_sound();
}

/* Once refused, later successes say nothing of those pages. */
static void test_refused_once(void **state) {
    (void)state;
    enum page_state s;
    stand_still(0);
    char *a = span_take(SPACE_LARGE, MIB), *b = span_take(SPACE_LARGE, MIB);
    memset(a, 0x77, MIB);
    memset(b, 0x77, MIB);
    span_give(b);
    assert_true(purge_zeroes());
    double_fail_verb(VERB_PURGE);
    span_give(a);
    double_heal();
    char *c = span_try(SPACE_LARGE, 2 * MIB, PAGE, &s);
    assert_ptr_equal(c, a);
    assert_int_equal(c[MIB - 1], 0x77);
    assert_int_not_equal(s, PAGES_ZERO);
    span_give(c);
    c = span_try(SPACE_LARGE, 2 * MIB, PAGE, &s);
    assert_int_not_equal(s, PAGES_ZERO);
    assert_sound();
}

/* Where each promise of memory counts, what is purged is closed as well; unless that is refused. */
static void test_closed(void **state) {
    (void)state;
    enum page_state s;
    pages_are(4 * KIB, true);
    stand_still(0);
    char *a = span_take(SPACE_LARGE, MIB), *b = span_take(SPACE_LARGE, MIB);
    size_t system = space_totals.system;
    span_give(b);
    (void)purge_free_pages(0);
    assert_int_equal(space_totals.system, system - MIB);
    assert_false(double_is_accessible(b, PAGE));
    assert_sound();
    memset(a, 0x77, MIB);
    double_fail_verb(VERB_DECOMMIT);
    span_give(a);
    assert_int_equal(space_totals.system, system - MIB);
    assert_int_equal(space_totals.resident_free, 0);
    assert_true(double_is_accessible(a, MIB));
    assert_sound();
    double_heal();
    assert_ptr_equal(span_try(SPACE_LARGE, 2 * MIB, PAGE, &s), a);
    assert_int_equal(s, PAGES_ZERO);
    assert_int_equal(a[0] + a[MIB - 1] + a[MIB] + a[2 * MIB - 1], 0);
    assert_sound();
}

/* The program's side of it, whatever became of the pages. */
static void calloc_is_zero(void) {
    enum { N = 12 };
    static const size_t sizes[N] = {16, 100, 1000, 5000, 30000, 40000, 70000, 250000, 300000, 1 << 20, 3 << 20, 8 << 20};
    void *p[N];
    stand_still(0);
    assume(OPT_RUNS, 1);
    assume(OPT_RUN_BLOCK_MAX, 32 * MIB);
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < N; i++) {
            unsigned char *c = p[i] = rung_calloc(1, sizes[i]);
            for (size_t k = 0; k < sizes[i]; k++)
                if (c[k] != 0)
                    fail_msg("round %d: byte %zu of %zu is not zero", round, k, sizes[i]);
            memset(c, 0xee, rung_malloc_usable_size(c));
        }
        give(p, N);
        if (round % 2 == 0)
            rung_malloc_trim(0);
        assert_sound();
    }
}

static void test_calloc_after_a_purge(void **state) {
    (void)state;
    calloc_is_zero();
    assert_true(double_bytes(VERB_PURGE) > 0);
}

static void test_calloc_where_purging_does_nothing(void **state) {
    (void)state;
    double_purge_leaves(true);
    calloc_is_zero();
    assert_true(double_bytes(VERB_PURGE) > 0);
    assert_false(purge_zeroes());
}

static void test_calloc_where_purging_is_refused(void **state) {
    (void)state;
    double_fail_verb(VERB_PURGE);
    calloc_is_zero();
    assert_true(double_failures() > 0);
}

/* ---- what is learned ---- */

/* A program that goes down and up by N MiB, with `pause` in between; the bytes purged on the way. */
static size_t swing(char **p, size_t n, uint64_t pause) {
    double_count_from_here();
    give_spans(p, n);
    time_passes(pause);
    take_spans(p, n, SPACE_LARGE, MIB);
    time_passes(pause);
    return double_bytes(VERB_PURGE);
}

/* n blocks of a MiB, where one MiB may stay, given back and taken again.  Returns what had been purged meanwhile. */
static size_t first_swing(char **p, size_t n) {
    stand_still(1 * MIB);
    take_spans(p, n, SPACE_LARGE, MIB);
    return swing(p, n, SECOND / 10);
}

static void test_one_swing_is_enough(void **state) {
    (void)state;
    enum { N = 50 };
    char *p[N];
    stand_still(1 * MIB);
    take_spans(p, N, SPACE_LARGE, MIB);
    size_t regrets = counter_get(COUNT_PURGE_REGRETS);
    assert_true(swing(p, N, SECOND / 10) >= (N - 2) * MIB);
    assert_true(counter_get(COUNT_PURGE_REGRETS) - regrets >= (N - 2) * MIB);
    for (int i = 0; i < 20; i++)
        assert_int_equal(swing(p, N, SECOND / 10), 0);
    assert_int_equal(space_totals.in_use, N * MIB);
    assert_sound();
}

static void test_what_was_learned_is_forgotten(void **state) {
    (void)state;
    enum { N = 50 };
    char *p[N];
    (void)first_swing(p, N);
    assert_int_equal(swing(p, N, SECOND / 10), 0);
    time_passes(20 * KEEP_HALVES_US);
    assert_true(swing(p, N, SECOND / 10) >= (N - 2) * MIB);
    assert_sound();
}

/* As long as it is used it is kept, at whatever pace. */
static void test_what_is_used_is_confirmed(void **state) {
    (void)state;
    enum { N = 50 };
    char *p[N];
    (void)first_swing(p, N);
    for (int i = 0; i < 20; i++)
        assert_int_equal(swing(p, N, 3 * KEEP_HALVES_US / 8), 0);
    assert_sound();
}

/* What the share alone would have kept says nothing. */
static void test_the_share_confirms_nothing(void **state) {
    (void)state;
    enum { N = 50 };
    char *p[N];
    (void)first_swing(p, N);
    assert_true(keep_learned(&space_keep, the_time) >= N * MIB);
    for (int i = 0; i < 20; i++)
        assert_int_equal(swing(p, 1, KEEP_HALVES_US / 4), 0);
    assert_in_range(keep_learned(&space_keep, the_time), 1, 2 * N * MIB >> 9);
}

/* Who comes back late has done without it. */
static void test_slow_swings_teach_nothing(void **state) {
    (void)state;
    enum { N = 50 };
    char *p[N];
    stand_still(1 * MIB);
    take_spans(p, N, SPACE_LARGE, MIB);
    for (int i = 0; i < 4; i++)
        assert_true(swing(p, N, KEEP_SOON_US + 1) >= (N - 2) * MIB);
    assert_int_equal(keep_learned(&space_keep, the_time), 0);
}

/* ---- growth ---- */

static void test_growth_takes_what_lies_free(void **state) {
    (void)state;
    enum { N = 30 };
    char *p[N];
    stand_still(1 * MIB);
    take_spans(p, N, SPACE_LARGE, MIB);
    size_t peak = N * MIB;
    assume(OPT_RUN_KEEP, 64 * MIB);
    for (size_t i = 0; i < N; i += 2)
        span_give(p[i]);
    assert_int_equal(space_totals.resident_free, N / 2 * MIB);
    assume(OPT_RUN_KEEP, 1 * MIB);
    for (int i = 0; i < 10; i++) { /* that fit into none of the gaps */
        (void)span_take(SPACE_LARGE, 2 * MIB);
        /* At most twice the share: what was learned may double it. */
        size_t floor = 2 * size_max(1 * MIB, space_totals.in_use / KEEP_SHARE);
        assert_true(space_totals.in_use + space_totals.resident_free <=
                    size_max(peak, space_totals.in_use + floor));
    }
    assert_int_equal(space_totals.in_use, (N / 2 + 20) * MIB);
    assert_sound();
}

/* Up to the peak nothing goes. */
static void test_below_the_peak_nothing_goes(void **state) {
    (void)state;
    enum { N = 30 };
    char *p[N];
    stand_still(64 * MIB);
    take_spans(p, N, SPACE_LARGE, MIB);
    give_spans(p, N);
    assume(OPT_RUN_KEEP, 0);
    double_count_from_here();
    take_spans(p, N, SPACE_LARGE, MIB);
    assert_int_equal(double_bytes(VERB_PURGE), 0);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_EACH_PAGE_SIZE(test_the_floor_and_the_share),
        ON_EACH_PAGE_SIZE(test_bounded_steps),
        ON_EACH_PAGE_SIZE(test_the_highest_go_first),
        ON_EACH_PAGE_SIZE(test_the_older_go_first),
        ON_EACH_PAGE_SIZE(test_aged_pages_go),
        ON_EACH_PAGE_SIZE(test_nothing_goes_before_the_delay),
        cmocka_unit_test(test_no_delay_means_never),
        ON_EACH_PAGE_SIZE(test_aged_pages_go_in_steps),
        ON_EACH_PAGE_SIZE(test_the_floor_does_not_age),
        ON_EACH_PAGE_SIZE(test_nothing_goes_twice),
        ON_EACH_PAGE_SIZE(test_the_gaps_alone_go),
        ON_EACH_PAGE_SIZE(test_gone_pages_are_zero),
        ON_EACH_PAGE_SIZE(test_refused),
        ON_EACH_PAGE_SIZE(test_refused_once),
        cmocka_unit_test(test_closed),
        ON_EACH_PAGE_SIZE(test_calloc_after_a_purge),
        ON_EACH_PAGE_SIZE(test_calloc_where_purging_does_nothing),
        ON_EACH_PAGE_SIZE(test_calloc_where_purging_is_refused),
        ON_EACH_PAGE_SIZE(test_one_swing_is_enough),
        ON_EACH_PAGE_SIZE(test_what_was_learned_is_forgotten),
        ON_EACH_PAGE_SIZE(test_what_is_used_is_confirmed),
        ON_EACH_PAGE_SIZE(test_the_share_confirms_nothing),
        ON_EACH_PAGE_SIZE(test_slow_swings_teach_nothing),
        ON_EACH_PAGE_SIZE(test_growth_takes_what_lies_free),
        ON_EACH_PAGE_SIZE(test_below_the_peak_nothing_goes),
    };
    return UNIT_RUN(tests);
}
