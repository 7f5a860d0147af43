/* The thresholds that adapt: the decision alone, and what is made of it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/counter.h"
#include "double.h"
#include "options/options.h"
#include "options/threshold.h"

static int start_over(void **state) {
    (void)state;
    option_use_profile(PROFILE_GLIBC);
    return 0;
}

static void assert_thresholds(size_t mmap, size_t trim) {
    assert_int_equal(option(OPT_MMAP_THRESHOLD), mmap);
    assert_int_equal(option(OPT_TRIM_THRESHOLD), trim);
}

static void test_decision_at_the_edges(void **state) {
    (void)state;
    const struct {
        struct thresholds now;
        size_t freed;
        struct thresholds then;
    } cases[] = {
        {{131072, 131072}, 4096, {131072, 131072}},
        {{131072, 131072}, 131072, {131072, 131072}},
        {{131072, 131072}, 131073, {131073, 262146}},
        {{131072, 131072}, 1052672, {1052672, 2105344}},
        {{131072, 131072}, 33554432, {33554432, 67108864}},
        {{131072, 131072}, 33554433, {131072, 131072}},
        {{131072, 131072}, SIZE_MAX, {131072, 131072}},
        {{1052672, 2105344}, 200704, {1052672, 2105344}},
        {{33554432, 67108864}, 33554432, {33554432, 67108864}},
        {{0, 0}, 1, {1, 2}},
        {{SIZE_MAX, 5}, 33554432, {SIZE_MAX, 5}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct thresholds then = threshold_after_free(cases[i].now, cases[i].freed);
        assert_int_equal(then.mmap, cases[i].then.mmap);
        assert_int_equal(then.trim, cases[i].then.trim);
    }
}

/* After any sequence of frees the thresholds say how large the largest eligible one was. */
static void test_decision_over_random_frees(void **state) {
    (void)state;
    const char *given = getenv("RUNG_TEST_SEED");
    const unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 0) : (unsigned)time(NULL);
    printf("RUNG_TEST_SEED=%u\n", seed);
    srand(seed);
    struct thresholds now = {131072, 131072};
    size_t largest = 131072;
    for (int i = 0; i < 10000; i++) {
        const size_t freed = ((size_t)rand() << 5) >> (rand() % 24);
        now = threshold_after_free(now, freed);
        if (freed > largest && freed <= 33554432)
            largest = freed;
        assert_int_equal(now.mmap, largest);
        assert_int_equal(now.trim, largest == 131072 ? 131072 : 2 * largest);
    }
}

static void test_learning(void **state) {
    (void)state;
    const size_t raises = counter_get(COUNT_THRESHOLD_RAISES);
    thresholds_learn(131072);
    assert_thresholds(131072, 131072);
    assert_int_equal(counter_get(COUNT_THRESHOLD_RAISES), raises);
    thresholds_learn(200704);
    assert_thresholds(200704, 401408);
    assert_int_equal(counter_get(COUNT_THRESHOLD_RAISES), raises + 1);
    thresholds_learn(135168);
    thresholds_learn(200704);
    thresholds_learn(33554448);
    assert_thresholds(200704, 401408);
    assert_int_equal(counter_get(COUNT_THRESHOLD_RAISES), raises + 1);
    thresholds_learn(33554432);
    assert_thresholds(33554432, 67108864);
    assert_int_equal(counter_get(COUNT_THRESHOLD_RAISES), raises + 2);
    /* Nobody has set anything. */
    assert_int_equal(option_origin(OPT_MMAP_THRESHOLD), ORIGIN_PROFILE);
    assert_false(thresholds_frozen());
}

static void test_nothing_is_learnt_once_frozen(void **state) {
    (void)state;
    const enum option steering[] = {OPT_TRIM_THRESHOLD, OPT_TOP_PAD, OPT_MMAP_THRESHOLD,
                                    OPT_MMAP_MAX};
    for (size_t i = 0; i < 4; i++) {
        option_use_profile(PROFILE_GLIBC);
        thresholds_learn(200704);
        option_set(steering[i], 4096, ORIGIN_ALIAS);
        const size_t raises = counter_get(COUNT_THRESHOLD_RAISES);
        thresholds_learn(1052672);
        assert_int_equal(counter_get(COUNT_THRESHOLD_RAISES), raises);
        /* What had been learnt stays, but for what was set. */
        assert_thresholds(steering[i] == OPT_MMAP_THRESHOLD ? 4096 : 200704,
                          steering[i] == OPT_TRIM_THRESHOLD ? 4096 : 401408);
    }
}

enum { LEARNERS = 4, STEPS = 2000 };

static pthread_barrier_t together;

static void *learn_rising(void *first) {
    pthread_barrier_wait(&together);
    for (size_t i = 0; i < STEPS; i++)
        thresholds_learn(*(size_t *)first + i * LEARNERS * 16);
    return NULL;
}

/* The highest wins, in both thresholds, however the threads meet. */
static void test_learning_in_several_threads(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        option_use_profile(PROFILE_GLIBC);
        pthread_t threads[LEARNERS];
        size_t first[LEARNERS];
        pthread_barrier_init(&together, NULL, LEARNERS);
        for (size_t i = 0; i < LEARNERS; i++) {
            first[i] = 131088 + 16 * i;
            assert_int_equal(pthread_create(&threads[i], NULL, learn_rising, &first[i]), 0);
        }
        for (size_t i = 0; i < LEARNERS; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&together);
        const size_t highest = 131072 + 16 * LEARNERS * STEPS;
        assert_thresholds(highest, 2 * highest);
    }
}

/* A threshold that the program sets is not overwritten by a free that was under way. */
static void test_setting_wins_over_learning(void **state) {
    (void)state;
    for (int round = 0; round < 200; round++) {
        option_use_profile(PROFILE_GLIBC);
        pthread_t thread;
        size_t first = 131088;
        pthread_barrier_init(&together, NULL, 2);
        assert_int_equal(pthread_create(&thread, NULL, learn_rising, &first), 0);
        pthread_barrier_wait(&together);
        while (round % 2 == 0 && option(OPT_MMAP_THRESHOLD) == 131072) {
        }
        option_set(OPT_TRIM_THRESHOLD, 12345, ORIGIN_MALLOPT);
        option_set(OPT_MMAP_THRESHOLD, 67890, ORIGIN_MALLOPT);
        pthread_join(thread, NULL);
        pthread_barrier_destroy(&together);
        assert_thresholds(67890, 12345);
    }
}

static void test_quiet_at_the_edges(void **state) {
    (void)state;
    const struct thresholds start = {131072, 131072};
    const struct {
        struct thresholds now;
        uint64_t halvings;
        struct thresholds then;
    } cases[] = {
        {{131072, 131072}, 0, {131072, 131072}},
        {{131072, 131072}, 5, {131072, 131072}},
        {{1048576, 2097152}, 0, {1048576, 2097152}},
        {{1048576, 2097152}, 1, {524288, 1048576}},
        {{1048576, 2097152}, 2, {262144, 524288}},
        {{1048576, 2097152}, 3, {131072, 131072}},
        {{33554432, 67108864}, 8, {131072, 131072}},
        {{33554432, 67108864}, 64, {131072, 131072}},
        {{33554432, 67108864}, UINT64_MAX, {131072, 131072}},
        {{4096, 8192}, 1, {4096, 8192}}, /* below its start it was put by somebody */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct thresholds then = threshold_after_quiet(cases[i].now, start, cases[i].halvings);
        assert_int_equal(then.mmap, cases[i].then.mmap);
        assert_int_equal(then.trim, cases[i].then.trim);
    }
}

/* Row N4, with a decay of ten seconds on a clock of our own. */
static const uint64_t second = 1000000;

static void start_with_decay(void) {
    option_use_profile(PROFILE_GLIBC);
    option_store(OPT_THRESHOLD_DECAY, 10000);
    double_clock_advance(second);
}

static void test_falling(void **state) {
    (void)state;
    start_with_decay();
    const size_t falls = counter_get(COUNT_THRESHOLD_FALLS);
    thresholds_learn(1048576);
    assert_thresholds(1048576, 2097152);
    double_clock_advance(9 * second);
    thresholds_age();
    assert_thresholds(1048576, 2097152);
    double_clock_advance(2 * second);
    thresholds_age();
    assert_thresholds(524288, 1048576);
    thresholds_age(); /* the same moment does not count twice */
    assert_thresholds(524288, 1048576);
    double_clock_advance(9 * second); /* 20 s since then, in two steps */
    thresholds_age();
    assert_thresholds(262144, 524288);
    assert_int_equal(counter_get(COUNT_THRESHOLD_FALLS), falls + 2);
    double_clock_advance(1000 * second);
    thresholds_age();
    assert_thresholds(131072, 131072);
    double_clock_advance(1000 * second);
    thresholds_age();
    assert_thresholds(131072, 131072);
    thresholds_learn(262144); /* and up again, for a while */
    thresholds_age();
    assert_thresholds(262144, 524288);
}

static void test_evidence_holds_them_up(void **state) {
    (void)state;
    start_with_decay();
    thresholds_learn(1048576);
    for (int i = 0; i < 100; i++) {
        double_clock_advance(6 * second);
        thresholds_confirm(600000); /* more than half */
        thresholds_age();
    }
    assert_thresholds(1048576, 2097152);
    for (int i = 0; i < 2; i++) {
        double_clock_advance(6 * second);
        thresholds_confirm(500000); /* enough for the next lower one only */
        thresholds_age();
    }
    assert_thresholds(524288, 1048576);
    for (int i = 0; i < 100; i++) {
        double_clock_advance(6 * second);
        thresholds_confirm(500000);
        thresholds_age();
    }
    assert_thresholds(524288, 1048576);
}

static void test_they_do_not_fall_in_glibcs_way(void **state) {
    (void)state;
    start_with_decay();
    option_store(OPT_THRESHOLD_DECAY, 0);
    thresholds_learn(1048576);
    double_clock_advance(1000 * second);
    thresholds_age();
    assert_thresholds(1048576, 2097152);
}

/* With decay an option that is set holds itself, and none of the others. */
static void test_each_option_freezes_itself(void **state) {
    (void)state;
    start_with_decay();
    option_set(OPT_TOP_PAD, 4096, ORIGIN_MALLOPT);
    option_set(OPT_MMAP_MAX, 4096, ORIGIN_MALLOPT);
    thresholds_learn(1048576);
    assert_thresholds(1048576, 2097152);
    double_clock_advance(10 * second);
    thresholds_age();
    assert_thresholds(524288, 1048576);

    start_with_decay();
    option_set(OPT_TRIM_THRESHOLD, 4096, ORIGIN_MALLOPT);
    thresholds_learn(1048576);
    assert_thresholds(1048576, 4096);
    double_clock_advance(100 * second);
    thresholds_age();
    assert_thresholds(131072, 4096);

    start_with_decay();
    option_set(OPT_MMAP_THRESHOLD, 262144, ORIGIN_MALLOPT);
    thresholds_learn(1048576);
    assert_thresholds(262144, 131072); /* there is nothing for trim_threshold to follow */
    double_clock_advance(100 * second);
    thresholds_age();
    assert_thresholds(262144, 131072);
}

static void test_huge_pages(void **state) {
    (void)state;
    const size_t page = 2097152;
    /* Not asked for, or transparent ones only. */
    for (size_t hugetlb = 0; hugetlb < 2; hugetlb++) {
        option_set(OPT_HUGETLB, hugetlb, ORIGIN_TUNABLES);
        thresholds_for_huge_pages(page);
        assert_thresholds(131072, 131072);
        assert_false(thresholds_frozen());
    }
    option_set(OPT_HUGETLB, 2, ORIGIN_TUNABLES);
    thresholds_for_huge_pages(page);
    assert_thresholds(page, 131072);
    assert_int_equal(option_origin(OPT_MMAP_THRESHOLD), ORIGIN_HUGETLB);
    assert_true(thresholds_frozen());
}

static void test_huge_pages_respect_what_was_set(void **state) {
    (void)state;
    const size_t value = option_info(OPT_MMAP_THRESHOLD)->profile[PROFILE_GLIBC];
    option_set(OPT_HUGETLB, 2097152, ORIGIN_RUNG_OPTIONS);
    option_set(OPT_MMAP_THRESHOLD, value, ORIGIN_ALIAS); /* set, though to the same value */
    thresholds_for_huge_pages(2097152);
    assert_int_equal(option(OPT_MMAP_THRESHOLD), value);
    assert_int_equal(option_origin(OPT_MMAP_THRESHOLD), ORIGIN_ALIAS);
    assert_true(thresholds_frozen());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decision_at_the_edges),
        cmocka_unit_test(test_decision_over_random_frees),
        cmocka_unit_test_setup(test_learning, start_over),
        cmocka_unit_test_setup(test_nothing_is_learnt_once_frozen, start_over),
        cmocka_unit_test_setup(test_learning_in_several_threads, start_over),
        cmocka_unit_test_setup(test_setting_wins_over_learning, start_over),
        cmocka_unit_test_setup(test_quiet_at_the_edges, start_over),
        cmocka_unit_test_setup(test_falling, start_over),
        cmocka_unit_test_setup(test_evidence_holds_them_up, start_over),
        cmocka_unit_test_setup(test_they_do_not_fall_in_glibcs_way, start_over),
        cmocka_unit_test_setup(test_each_option_freezes_itself, start_over),
        cmocka_unit_test_setup(test_huge_pages, start_over),
        cmocka_unit_test_setup(test_huge_pages_respect_what_was_set, start_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
