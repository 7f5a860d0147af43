/* The options' table, setters and mallopt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "options/options.h"
#include "options/threshold.h"
#include "os/os.h"

static int start_over(void **state) {
    (void)state;
    option_use_profile(PROFILE_GLIBC);
    return 0;
}

static void assert_as_in_profile(enum profile profile) {
    for (int i = 0; i < OPTION_COUNT; i++) {
        assert_int_equal(option((enum option)i), option_info((enum option)i)->profile[profile]);
        assert_int_equal(option_origin((enum option)i), ORIGIN_PROFILE);
    }
    assert_false(thresholds_frozen());
}

static void test_glibc_profile(void **state) {
    (void)state;
    const struct {
        enum option which;
        size_t value;
    } expected[] = {
        {OPT_ARENA_MAX, 0},
        {OPT_ARENA_TEST, 8},
        {OPT_MMAP_THRESHOLD, 131072},
        {OPT_TRIM_THRESHOLD, 131072},
        {OPT_TOP_PAD, 131072},
        {OPT_MMAP_MAX, 65536},
        {OPT_PERTURB, 0},
        {OPT_TCACHE_COUNT, 16},
        {OPT_TCACHE_MAX, 1032},
        {OPT_TCACHE_UNSORTED_LIMIT, 0},
        {OPT_HUGETLB, 0},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(option(expected[i].which), expected[i].value);
}

static void assert_differ(const char *a, const char *b) {
    if (a != NULL && b != NULL)
        assert_string_not_equal(a, b);
}

/* Two options of one name, variable or parameter: the second could not be reached. */
static void test_names_are_unique(void **state) {
    (void)state;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_info *a = option_info((enum option)i);
        assert_string_not_equal(a->name, "profile");
        for (int j = 0; j < i; j++) {
            const struct option_info *b = option_info((enum option)j);
            assert_differ(a->name, b->name);
            assert_differ(a->alias, b->alias);
            assert_differ(a->tunable, b->tunable);
            assert_true(a->mallopt == MALLOPT_NONE || a->mallopt != b->mallopt);
        }
    }
}

static void test_thread_cache_has_no_variables(void **state) {
    (void)state;
    assert_null(option_info(OPT_TCACHE_COUNT)->alias);
    assert_null(option_info(OPT_TCACHE_MAX)->alias);
    assert_null(option_info(OPT_TCACHE_UNSORTED_LIMIT)->alias);
}

static void refuse(enum option which, size_t value) {
    const size_t before = option(which);
    const enum option_origin origin = option_origin(which);
    const bool frozen = thresholds_frozen();
    assert_false(option_set(which, value, ORIGIN_MALLOPT));
    assert_int_equal(option(which), before);
    assert_int_equal(option_origin(which), origin);
    assert_int_equal(thresholds_frozen(), frozen);
}

static void accept(enum option which, size_t value) {
    assert_true(option_set(which, value, ORIGIN_TUNABLES));
    assert_int_equal(option(which), value);
    assert_int_equal(option_origin(which), ORIGIN_TUNABLES);
}

static void test_range_edges(void **state) {
    (void)state;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const enum option which = (enum option)i;
        const struct option_info *row = option_info(which);
        if (row->min > 0)
            refuse(which, row->min - 1);
        if (row->max < SIZE_MAX) {
            refuse(which, row->max + 1);
            refuse(which, SIZE_MAX);
        }
        accept(which, row->min);
        accept(which, row->max);
        accept(which, row->min + (row->max - row->min) / 2);
    }
}

/* The ranges themselves. */
static void test_ranges(void **state) {
    (void)state;
    assert_int_equal(option_info(OPT_ARENA_MAX)->min, 1);
    assert_int_equal(option_info(OPT_ARENA_TEST)->min, 1);
    assert_int_equal(option_info(OPT_TCACHE_COUNT)->max, 65535);
    assert_int_equal(option_info(OPT_TCACHE_MAX)->max, 4194304);
    assert_int_equal(option_info(OPT_PERTURB)->max, 255);
    assert_int_equal(option_info(OPT_CHECK)->max, 3);
    assert_int_equal(option_info(OPT_MMAP_MAX)->max, INT32_MAX);
    assert_int_equal(option_info(OPT_DECORATE_MAPS)->max, 2);
    assert_int_equal(option_info(OPT_MMAP_THRESHOLD)->max, SIZE_MAX);
}

static void test_what_freezes(void **state) {
    (void)state;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const enum option which = (enum option)i;
        option_use_profile(PROFILE_GLIBC);
        assert_false(thresholds_frozen());
        assert_true(option_set(which, option_info(which)->min, ORIGIN_ALIAS));
        const bool expected = which == OPT_TRIM_THRESHOLD || which == OPT_TOP_PAD ||
                              which == OPT_MMAP_THRESHOLD || which == OPT_MMAP_MAX;
        assert_int_equal(thresholds_frozen(), expected);
    }
}

static void test_profile_starts_over(void **state) {
    (void)state;
    for (int i = 0; i < OPTION_COUNT; i++)
        option_set((enum option)i, 1, ORIGIN_MALLOPT);
    for (int p = 0; p < PROFILE_COUNT; p++) {
        option_use_profile((enum profile)p);
        assert_int_equal(option_profile(), p);
        assert_as_in_profile((enum profile)p);
    }
}

static void test_mallopt_sizes(void **state) {
    (void)state;
    const struct {
        int parameter;
        enum option which;
    } sizes[] = {{-1, OPT_TRIM_THRESHOLD}, {-2, OPT_TOP_PAD}, {-3, OPT_MMAP_THRESHOLD}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        option_use_profile(PROFILE_GLIBC);
        assert_int_equal(options_mallopt(sizes[i].parameter, 65536), 1);
        assert_int_equal(option(sizes[i].which), 65536);
        assert_int_equal(option_origin(sizes[i].which), ORIGIN_MALLOPT);
        assert_true(thresholds_frozen());
        assert_int_equal(options_mallopt(sizes[i].parameter, 0), 1);
        assert_int_equal(option(sizes[i].which), 0);
        assert_int_equal(options_mallopt(sizes[i].parameter, -1), 1);
        assert_int_equal(option(sizes[i].which), SIZE_MAX);
        assert_int_equal(options_mallopt(sizes[i].parameter, INT32_MIN), 1);
        assert_int_equal(option(sizes[i].which), SIZE_MAX - INT32_MAX);
    }
    /* Up to glibc 2.34 thresholds above 32 MiB were refused. */
    assert_int_equal(options_mallopt(-3, 1 << 30), 1);
    assert_int_equal(option(OPT_MMAP_THRESHOLD), 1 << 30);
}

static void test_mallopt_mmap_max(void **state) {
    (void)state;
    assert_int_equal(options_mallopt(-4, 7), 1);
    assert_int_equal(option(OPT_MMAP_MAX), 7);
    assert_true(thresholds_frozen());
    /* Fewer than none at a time is none. */
    assert_int_equal(options_mallopt(-4, -1), 1);
    assert_int_equal(option(OPT_MMAP_MAX), 0);
    assert_int_equal(options_mallopt(-4, INT32_MAX), 1);
    assert_int_equal(option(OPT_MMAP_MAX), INT32_MAX);
}

static void test_mallopt_perturb_takes_a_byte(void **state) {
    (void)state;
    assert_int_equal(options_mallopt(-6, 0x5a), 1);
    assert_int_equal(option(OPT_PERTURB), 0x5a);
    assert_int_equal(options_mallopt(-6, 0x1ff), 1);
    assert_int_equal(option(OPT_PERTURB), 0xff);
    assert_int_equal(options_mallopt(-6, -2), 1);
    assert_int_equal(option(OPT_PERTURB), 0xfe);
    assert_false(thresholds_frozen());
}

static void test_mallopt_arenas(void **state) {
    (void)state;
    const struct {
        int parameter;
        enum option which;
    } arenas[] = {{-7, OPT_ARENA_TEST}, {-8, OPT_ARENA_MAX}};
    for (size_t i = 0; i < 2; i++) {
        const size_t before = option(arenas[i].which);
        assert_int_equal(options_mallopt(arenas[i].parameter, 0), 1);
        assert_int_equal(options_mallopt(arenas[i].parameter, -5), 1);
        assert_int_equal(option(arenas[i].which), before);
        assert_int_equal(option_origin(arenas[i].which), ORIGIN_PROFILE);
        assert_int_equal(options_mallopt(arenas[i].parameter, 3), 1);
        assert_int_equal(option(arenas[i].which), 3);
        assert_int_equal(option_origin(arenas[i].which), ORIGIN_MALLOPT);
    }
    assert_false(thresholds_frozen());
}

/* mxfast, check and parameters that nobody knows: 1, and nothing has changed. */
static void test_mallopt_without_effect(void **state) {
    (void)state;
    const int parameters[] = {1, -5, 0, 2, 3, 4, -9, -100, INT32_MAX, INT32_MIN};
    const int values[] = {0, 1, -1, 64, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        for (size_t j = 0; j < sizeof values / sizeof values[0]; j++)
            assert_int_equal(options_mallopt(parameters[i], values[j]), 1);
    }
    assert_as_in_profile(PROFILE_GLIBC);
}

/* Every option that has a parameter in the table is set, or left alone, by that parameter. */
static void test_mallopt_follows_the_table(void **state) {
    (void)state;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_info *row = option_info((enum option)i);
        if (row->mallopt == MALLOPT_NONE)
            continue;
        option_use_profile(PROFILE_GLIBC);
        assert_int_equal(options_mallopt(row->mallopt, 3), 1);
        for (int j = 0; j < OPTION_COUNT; j++) {
            const bool set = j == i && j != OPT_MXFAST && j != OPT_CHECK;
            assert_int_equal(option_origin((enum option)j), set ? ORIGIN_MALLOPT : ORIGIN_PROFILE);
        }
    }
}

static void test_no_effect(void **state) {
    (void)state;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const bool never = i == OPT_MXFAST || i == OPT_CHECK || i == OPT_PURGE_DELAY;
        const bool not_in_glibc = i == OPT_PURGE_THREAD; /* purge_delay is 0 there */
        assert_int_equal(option_no_effect((enum option)i) != NULL, never || not_in_glibc);
    }
    option_set(OPT_MAP_KEEP, 4096, ORIGIN_RUNG_OPTIONS);
    assert_null(option_no_effect(OPT_PURGE_DELAY)); /* there is something to age */
    option_set(OPT_PURGE_DELAY, 1000, ORIGIN_RUNG_OPTIONS);
    assert_null(option_no_effect(OPT_PURGE_THREAD));

    option_set(OPT_ARENA_MAX, 4, ORIGIN_ALIAS);
    assert_non_null(option_no_effect(OPT_ARENA_TEST));
    assert_null(option_no_effect(OPT_ARENA_MAX));

    option_set(OPT_TCACHE_COUNT, 0, ORIGIN_TUNABLES);
    assert_non_null(option_no_effect(OPT_TCACHE_MAX));
    assert_non_null(option_no_effect(OPT_TCACHE_UNSORTED_LIMIT));
    assert_null(option_no_effect(OPT_TCACHE_COUNT));

    option_set(OPT_TCACHE_COUNT, 16, ORIGIN_TUNABLES);
    option_set(OPT_PERTURB, 1, ORIGIN_ALIAS);
    assert_non_null(option_no_effect(OPT_TCACHE_COUNT));
    assert_non_null(option_no_effect(OPT_TCACHE_MAX));
    assert_non_null(option_no_effect(OPT_TCACHE_UNSORTED_LIMIT));
    assert_null(option_no_effect(OPT_PERTURB));

    option_set(OPT_MMAP_THRESHOLD, 4096, ORIGIN_ALIAS);
    assert_non_null(option_no_effect(OPT_THRESHOLD_DECAY));
    option_set(OPT_MMAP_MAX, 0, ORIGIN_ALIAS);
    assert_non_null(option_no_effect(OPT_MMAP_THRESHOLD));
    assert_null(option_no_effect(OPT_MMAP_MAX));
}

static void test_no_effect_of_huge_pages(void **state) {
    (void)state;
    const struct os_facts kept = os_facts;
    const struct {
        size_t hugetlb, thp;
        bool on_request;
        size_t default_page;
        bool effect;
        size_t page;
    } cases[] = {
        {0, 0, false, 0, true, 0},
        {1, 2097152, true, 0, true, 0},
        {1, 2097152, false, 0, false, 0},
        {1, 0, true, 2097152, false, 0},
        {2, 0, false, 2097152, true, 2097152},
        {2, 2097152, true, 0, false, 0},
        {3, 2097152, true, 2097152, false, 0},
        {2048, 2097152, true, 2097152, false, 0},
        {4194304, 0, false, 2097152, true, 4194304},
        {4194305, 0, false, 2097152, false, 0},
        {SIZE_MAX, 0, false, 2097152, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        os_facts.page = 4096;
        os_facts.thp = cases[i].thp;
        os_facts.thp_on_request = cases[i].on_request;
        os_facts.hugetlb = cases[i].default_page;
        option_set(OPT_HUGETLB, cases[i].hugetlb, ORIGIN_TUNABLES);
        const bool effect = option_no_effect(OPT_HUGETLB) == NULL;
        const size_t page = option_huge_page();
        os_facts = kept;
        assert_int_equal(effect, cases[i].effect);
        assert_int_equal(page, cases[i].page);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_glibc_profile, start_over),
        cmocka_unit_test_setup(test_names_are_unique, start_over),
        cmocka_unit_test_setup(test_thread_cache_has_no_variables, start_over),
        cmocka_unit_test_setup(test_range_edges, start_over),
        cmocka_unit_test_setup(test_ranges, start_over),
        cmocka_unit_test_setup(test_what_freezes, start_over),
        cmocka_unit_test_setup(test_profile_starts_over, start_over),
        cmocka_unit_test_setup(test_mallopt_sizes, start_over),
        cmocka_unit_test_setup(test_mallopt_mmap_max, start_over),
        cmocka_unit_test_setup(test_mallopt_perturb_takes_a_byte, start_over),
        cmocka_unit_test_setup(test_mallopt_arenas, start_over),
        cmocka_unit_test_setup(test_mallopt_without_effect, start_over),
        cmocka_unit_test_setup(test_mallopt_follows_the_table, start_over),
        cmocka_unit_test_setup(test_no_effect, start_over),
        cmocka_unit_test_setup(test_no_effect_of_huge_pages, start_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
