/* Freed mappings that wait for reuse. */
#include <errno.h>
#include <string.h>

#include "arena/huge.h"
#include "arena/mapped.h"
#include "arena/mapped_cache.h"
#include "base/counter.h"
#include "unit.h"

enum { SECOND = 1000000 };

/* Every block of 128 KiB and more is mapped, and stays so. */
static void keep_up_to(size_t bytes) {
    assume(OPT_MAP_KEEP, bytes);
    assume(OPT_PURGE_DELAY, 1000);
    rung_mallopt(M_MMAP_THRESHOLD, 128 * KIB);
    double_clock_advance(0);
    assert_non_null(rung_malloc(16)); /* the arena exists */
    double_count_from_here();
}

static size_t kept(void) {
    return counter_get(COUNT_MAPPED_KEPT);
}

static size_t mapping_calls(void) {
    return double_calls(VERB_MAP) + double_calls(VERB_UNMAP) + double_calls(VERB_REMAP) + double_calls(VERB_PURGE);
}

static void *touched(size_t size) {
    void *p = rung_malloc(size);
    assert_non_null(p);
    return memset(p, 0xee, size);
}

static void test_off(void **state) {
    (void)state;
    keep_up_to(0);
    for (int i = 0; i < 5; i++)
        rung_free(touched(1 * MIB));
    assert_int_equal(double_calls(VERB_MAP), 5);
    assert_int_equal(double_calls(VERB_UNMAP), 5);
    assert_int_equal(kept(), 0);
}

/* Within the floor from the first time on. */
static void test_small_churn(void **state) {
    (void)state;
    keep_up_to(1 * MIB);
    rung_free(touched(512 * KIB));
    assert_int_equal(kept(), 512 * KIB + 4096);
    double_count_from_here();
    for (int i = 0; i < 100; i++)
        rung_free(touched(512 * KIB));
    assert_int_equal(mapping_calls(), 0);
    assert_int_equal(counter_get(COUNT_MAPPED_HITS), 100);
    assert_sound();
}

/* Beyond the floor it has to be learned, once. */
static void test_steady_churn_is_learned(void **state) {
    (void)state;
    keep_up_to(1 * MIB);
    rung_free(touched(40 * MIB));
    assert_int_equal(double_calls(VERB_UNMAP), 1);
    rung_free(touched(40 * MIB));
    assert_int_equal(counter_get(COUNT_MAPPED_REGRETS), 1);
    double_count_from_here();
    for (int i = 0; i < 100; i++) {
        double_clock_advance(SECOND / 10);
        rung_free(touched(40 * MIB));
    }
    assert_int_equal(mapping_calls(), 0);
    assert_sound();
}

/* Eight blocks that come and go together. */
static void test_a_swing_is_learned(void **state) {
    (void)state;
    keep_up_to(1 * MIB);
    void *p[8];
    for (int round = 0; round < 20; round++) {
        if (round == 2)
            double_count_from_here();
        for (int i = 0; i < 8; i++)
            p[i] = touched(20 * MIB);
        double_clock_advance(SECOND / 20);
        for (int i = 0; i < 8; i++)
            rung_free(p[i]);
        double_clock_advance(SECOND / 20);
        assert_sound();
    }
    assert_int_equal(mapping_calls(), 0);
}

static void test_a_burst_goes_back_at_once(void **state) {
    (void)state;
    keep_up_to(1 * MIB);
    void *p[60];
    for (int i = 0; i < 60; i++)
        p[i] = touched(5 * MIB);
    give(p, 60);
    assert_true(kept() <= 1 * MIB);
    assert_sound();
    for (int i = 0; i < 60; i++)
        p[i] = touched(200 * KIB); /* small ones: some stay, for the others the oldest make room */
    double_clock_advance(60 * (uint64_t)SECOND); /* and the lesson of the burst is forgotten */
    give(p, 60);
    assert_true(kept() > 512 * KIB && kept() <= 1 * MIB);
    assert_sound();
}

/* An eighth of what is in use. */
static void test_share(void **state) {
    (void)state;
    keep_up_to(1);
    void *held = touched(80 * MIB);
    rung_free(touched(9 * MIB));
    assert_int_equal(kept(), 9 * MIB + 4096);
    rung_free(touched(11 * MIB));
    assert_int_equal(kept(), 9 * MIB + 4096);
    rung_free(held);
    assert_sound();
}

static void test_age(void **state) {
    (void)state;
    keep_up_to(10 * MIB);
    rung_free(touched(1 * MIB));
    double_clock_advance(SECOND * 6 / 10);
    void *p = touched(2 * MIB); /* the one does not fit */
    rung_free(p);
    assert_int_equal(kept(), 3 * MIB + 8192);
    double_clock_advance(SECOND * 5 / 10);
    void *small = rung_malloc(60 * KIB), *more = rung_malloc(100 * KIB); /* top grows: a moment to look */
    assert_non_null(small);
    assert_non_null(more);
    assert_in_range(kept(), 2 * MIB, 2 * MIB + 4096);
    double_clock_advance(SECOND);
    p = touched(200 * KIB); /* takes a part of what is left; the rest is too old */
    assert_int_equal(kept(), 0);
    rung_free(p);
    assert_sound();
    assume(OPT_PURGE_DELAY, 0);
    double_clock_advance(1000 * (uint64_t)SECOND);
    rung_free(touched(300 * KIB));
    assert_in_range(kept(), 500 * KIB, 512 * KIB);
    assert_sound();
}

/* Old ones go a few a call, not all at once. */
static void test_age_goes_in_steps(void **state) {
    (void)state;
    keep_up_to(100 * MIB);
    void *p[40];
    for (int i = 0; i < 40; i++) {
        p[i] = rung_malloc(200 * KIB);
        double_program_sbrk(0);
    }
    for (int i = 0; i < 40; i += 2)
        rung_free(p[i]);
    double_clock_advance(2 * SECOND);
    double_count_from_here();
    rung_free(p[1]);
    assert_in_range(double_calls(VERB_UNMAP), 1, 5);
    for (int i = 3; i < 40; i += 2)
        rung_free(p[i]);
    assert_sound();
}

/* What learns, forgets. */
static void test_quiet_lowers_the_allowance(void **state) {
    (void)state;
    keep_up_to(1 * MIB);
    for (int i = 0; i < 5; i++)
        rung_free(touched(40 * MIB));
    assert_in_range(kept(), 40 * MIB, 41 * MIB);
    double_clock_advance(30 * (uint64_t)SECOND);
    rung_free(touched(40 * MIB)); /* that took it; now it is one too many */
    assert_int_equal(kept(), 0);
    assert_sound();
}

static void test_waste_is_bounded(void **state) {
    (void)state;
    keep_up_to(10 * MIB);
    char *p = touched(8 * MIB);
    rung_free(p);
    char *q = rung_malloc(7500 * KIB); /* nearly all of it: it gets all */
    assert_ptr_equal(p, q);
    assert_true(rung_malloc_usable_size(q) >= 8 * MIB);
    assert_int_equal(kept(), 0);
    rung_free(q);
    q = rung_malloc(2 * MIB);
    char *r = rung_malloc(3 * MIB), *s = rung_malloc(1 * MIB);
    assert_ptr_equal(q, p);
    assert_ptr_equal(r, p + 2 * MIB + 4096);
    assert_int_equal(kept(), 2 * MIB - 2 * 4096); /* 8 MiB and a page, less three blocks and a page each */
    assert_int_equal(double_calls(VERB_MAP), 1);
    assert_sound();
    rung_free(q);
    rung_free(s);
    rung_free(r); /* and they are one again */
    p = rung_malloc(8 * MIB);
    assert_ptr_equal(p, q);
    assert_int_equal(mapping_calls(), 1);
    assert_sound();
}

/* A part that is used again and again does not keep the rest young. */
static void test_the_rest_of_a_split_ages(void **state) {
    (void)state;
    keep_up_to(10 * MIB);
    rung_free(touched(8 * MIB));
    for (int i = 0; i < 12; i++) {
        double_clock_advance(SECOND / 10);
        rung_free(touched(1 * MIB));
    }
    assert_true(kept() <= 2 * MIB);
    assert_sound();
}

static void test_best_fit(void **state) {
    (void)state;
    keep_up_to(20 * MIB);
    const size_t sizes[] = {3, 1, 5, 2, 4};
    char *p[5], *at = os_map(20 * MIB, 0);
    for (int i = 0; i < 5; i++) { /* with a page between them that stays */
        p[i] = at;
        at += sizes[i] * MIB + 4096;
        mapped_cache_put(p[i], sizes[i] * MIB);
    }
    double_count_from_here();
    for (size_t size = 1; size <= 5; size++) {
        size_t total = size * MIB;
        char *taken = mapped_cache_take(&total);
        assert_int_equal(total, size * MIB);
        for (int i = 0; i < 5; i++)
            if (sizes[i] == size)
                assert_ptr_equal(taken, p[i]);
    }
    assert_int_equal(mapping_calls(), 0);
    assert_int_equal(kept(), 0);
}

/* Kept pages are dirty. */
static void test_calloc_clears(void **state) {
    (void)state;
    keep_up_to(64 * MIB);
    const size_t sizes[] = {200 * KIB, 1 * MIB - 8192, 1 * MIB, 20 * MIB};
    for (int i = 0; i < 4; i++) {
        rung_free(touched(sizes[i]));
        unsigned char *p = rung_calloc(1, sizes[i]);
        for (size_t k = 0; k < rung_malloc_usable_size(p); k++)
            if (p[k] != 0)
                fail_msg("byte %zu of a calloc(%zu) is 0x%02x", k, sizes[i], p[k]);
        rung_free(p);
        rung_malloc_trim(0);
        assert_sound();
    }
}

/* A large dirty mapping is exchanged, not cleared: perhaps little of it is ever touched. */
static void test_calloc_of_much(void **state) {
    (void)state;
    keep_up_to(64 * MIB);
    rung_free(touched(40 * MIB));
    double_count_from_here();
    void *p = rung_calloc(1, 40 * MIB);
    assert_int_equal(double_calls(VERB_UNMAP), 1);
    assert_int_equal(double_calls(VERB_MAP), 1);
    assert_int_equal(kept(), 0);
    rung_free(p);
    assert_sound();
}

static void test_realloc_remaps(void **state) {
    (void)state;
    keep_up_to(64 * MIB);
    rung_free(touched(40 * MIB));
    unsigned char *p = touched(8 * MIB); /* a part of it */
    p = rung_realloc(p, 12 * MIB);
    assert_int_equal(double_calls(VERB_REMAP), 1);
    for (size_t i = 0; i < 8 * MIB; i += 4096)
        assert_int_equal(p[i], 0xee);
    p = rung_realloc(p, 4 * MIB);
    assert_sound();
    rung_free(p);
    assert_sound();
}

static void test_alignment(void **state) {
    (void)state;
    keep_up_to(64 * MIB);
    for (size_t align = 32; align <= 8 * MIB; align *= 2)
        for (int i = 0; i < 3; i++) {
            char *p = rung_memalign(align, 300 * KIB);
            assert_int_equal((uintptr_t)p % align, 0);
            memset(p, 1, 300 * KIB);
            assert_sound();
            rung_free(p);
            assert_sound();
        }
}

/* FIELD 14: what waits makes room before anybody hears no. */
static void near_the_limit(size_t size) {
    keep_up_to(64 * MIB);
    rung_free(touched(40 * MIB));
    assert_in_range(kept(), 40 * MIB, 41 * MIB);
    double_limit(double_accessible() + 4 * MIB);
    void *p = rung_malloc(size);
    assert_non_null(p);
    assert_int_equal(kept(), 0);
    assert_sound();
    rung_free(p);
    double_limit(SIZE_MAX);
    assert_sound();
}

static void test_limit_mapping(void **state) {
    (void)state;
    near_the_limit(42 * MIB);
}

static void test_limit_break(void **state) {
    (void)state;
    assume(OPT_TOP_PAD, 8 * MIB);
    keep_up_to(64 * MIB);
    void *p[300];
    rung_free(touched(40 * MIB));
    double_limit(double_accessible());
    take(p, 300, 100 * KIB);
    assert_int_equal(kept(), 0);
    assert_sound();
    give(p, 300);
}

static void test_limit_secondary(void **state) {
    (void)state;
    self.arena = NULL;
    keep_up_to(64 * MIB);
    void *p[100];
    rung_free(touched(40 * MIB));
    double_limit(double_accessible());
    take(p, 100, 100 * KIB);
    assert_ptr_not_equal(self.arena, &main_arena);
    assert_true(kept() < 32 * MIB); /* the blocks were cut from what waited */
    assert_sound();
    give(p, 100);
}

static void test_limit_remap(void **state) {
    (void)state;
    keep_up_to(64 * MIB);
    void *p = touched(20 * MIB), *q = touched(40 * MIB);
    rung_free(q);
    double_limit(double_accessible());
    p = rung_realloc(p, 50 * MIB);
    assert_non_null(p);
    assert_int_equal(kept(), 0);
    assert_sound();
}

static void test_no_memory_at_all(void **state) {
    (void)state;
    keep_up_to(64 * MIB);
    rung_free(touched(40 * MIB));
    double_limit(double_accessible());
    errno = 0;
    assert_null(rung_malloc(80 * MIB));
    assert_int_equal(errno, ENOMEM);
    void *p = rung_malloc(30 * MIB);
    assert_non_null(p);
    assert_sound();
}

static void test_refused_unmap(void **state) {
    (void)state;
    keep_up_to(1 * MIB);
    void *p[10];
    take(p, 10, 2 * MIB);
    double_fail_verb(VERB_UNMAP);
    give(p, 10);
    assert_true(kept() <= 1 * MIB);
    assert_int_equal(double_refused(), 10 * (2 * MIB + 4096) - kept());
    double_heal();
    rung_free(rung_malloc(3 * MIB));
    assert_int_equal(double_refused(), 0);
    assert_sound();
}

static void test_malloc_trim(void **state) {
    (void)state;
    keep_up_to(64 * MIB);
    rung_free(touched(40 * MIB));
    assert_int_equal(rung_malloc_trim(0), 1);
    assert_int_equal(kept(), 0);
    rung_malloc_trim(0);
    assert_int_equal(rung_malloc_trim(0), 0);
    assert_sound();
}

/* Rows D6: where it would count, or could be read, nothing waits. */
static void test_strict_commit_and_privileges(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct os_facts facts = os_facts;
        facts.strict_commit = which == 0;
        facts.secure = which == 1;
        double_set_facts(&facts);
        keep_up_to(64 * MIB);
        rung_free(touched(1 * MIB));
        assert_int_equal(kept(), 0);
        assert_non_null(option_no_effect(OPT_MAP_KEEP));
    }
}

static void test_huge_pages_do_not_wait(void **state) {
    (void)state;
    assert_true(rung_heap_check() == 0);
    double_has_huge_pages(true);
    assume(OPT_HUGETLB, 2);
    huge_init();
    keep_up_to(64 * MIB);
    rung_free(touched(4 * MIB));
    assert_true(double_last_huge_flags() != 0);
    assert_int_equal(kept(), 0);
    assert_sound();
}

/* More mappings than the record holds. */
static void test_many(void **state) {
    (void)state;
    keep_up_to(1024 * MIB);
    static void *p[400];
    take(p, 400, 130 * KIB);
    for (int i = 0; i < 400; i += 2)
        rung_free(p[i]);
    assert_sound();
    for (int i = 1; i < 400; i += 2)
        rung_free(p[i]);
    assert_sound();
}

static void free_twice(void) {
    assume(OPT_MAP_KEEP, 64 * MIB);
    void *p = rung_malloc(1 * MIB);
    rung_free(p);
    rung_free(p);
}

static void realloc_after_free(void) {
    assume(OPT_MAP_KEEP, 64 * MIB);
    void *p = rung_malloc(1 * MIB);
    rung_free(p);
    rung_realloc(p, 2 * MIB);
}

static void free_twice_overwritten(void) {
    assume(OPT_MAP_KEEP, 64 * MIB);
    char *p = rung_malloc(1 * MIB);
    rung_free(p);
    memset(p - 16, 0, 8);
    rung_free(p);
}

static void test_misuse(void **state) {
    (void)state;
    assert_dies(free_twice, "munmap_chunk(): invalid pointer\n");
    assert_dies(realloc_after_free, "mremap_chunk(): invalid pointer\n");
    assert_dies(free_twice_overwritten, "munmap_chunk(): invalid pointer\n");
}

/* A fork is under way, or this is a handler: it is done without. */
static void test_without_the_lock(void **state) {
    (void)state;
    keep_up_to(64 * MIB);
    rung_free(touched(2 * MIB));
    lock_fork_freeze(&mapped_cache_lock, 0);
    double_count_from_here();
    rung_free(touched(2 * MIB));
    assert_int_equal(double_calls(VERB_MAP), 1);
    assert_int_equal(double_calls(VERB_UNMAP), 1);
    lock_fork_thaw(&mapped_cache_lock);
    rung_free(touched(2 * MIB));
    assert_int_equal(mapping_calls(), 2);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_small_churn),
        cmocka_unit_test(test_steady_churn_is_learned),
        cmocka_unit_test(test_a_swing_is_learned),
        cmocka_unit_test(test_a_burst_goes_back_at_once),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_age_goes_in_steps),
        cmocka_unit_test(test_quiet_lowers_the_allowance),
        cmocka_unit_test(test_waste_is_bounded),
        cmocka_unit_test(test_the_rest_of_a_split_ages),
        cmocka_unit_test(test_best_fit),
        cmocka_unit_test(test_calloc_clears),
        cmocka_unit_test(test_calloc_of_much),
        cmocka_unit_test(test_realloc_remaps),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_limit_mapping),
        cmocka_unit_test(test_limit_break),
        cmocka_unit_test(test_limit_secondary),
        cmocka_unit_test(test_limit_remap),
        cmocka_unit_test(test_no_memory_at_all),
        cmocka_unit_test(test_refused_unmap),
        cmocka_unit_test(test_malloc_trim),
        cmocka_unit_test(test_strict_commit_and_privileges),
        cmocka_unit_test(test_huge_pages_do_not_wait),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_without_the_lock),
    };
    return UNIT_RUN(tests);
}
