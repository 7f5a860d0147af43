/* How much free memory may stay resident: pure functions of time. */
#include "options/keep.h"

#include "unit.h"

#define SECOND ((uint64_t)1000000)
#define START (1000 * SECOND)
#define FLOOR (1 * MIB)

/* Of a program that had `peak` bytes at START. */
static struct keep after_peak(size_t peak) {
    struct keep k = {0};
    keep_saw(&k, peak, START);
    return k;
}

static void test_share_and_floor(void **state) {
    (void)state;
    struct keep k = {0};
    assert_int_equal(keep_limit(&k, 0, FLOOR, START), FLOOR);
    assert_int_equal(keep_limit(&k, KEEP_SHARE * FLOOR, FLOOR, START), FLOOR);
    assert_int_equal(keep_limit(&k, KEEP_SHARE * (FLOOR + 1), FLOOR, START), FLOOR + 1);
    assert_int_equal(keep_limit(&k, 800 * MIB, FLOOR, START), 100 * MIB);
    assert_int_equal(keep_limit(&k, 0, 0, START), 0);
    assert_int_equal(keep_limit(&k, 0, SIZE_MAX, START), SIZE_MAX);
}

static void test_peak_halves(void **state) {
    (void)state;
    struct keep k = after_peak(512 * MIB);
    assert_int_equal(keep_peak(&k, START), 512 * MIB);
    assert_int_equal(keep_peak(&k, START + KEEP_HALVES_US - 1), 512 * MIB);
    for (unsigned i = 1; i < 70; i++)
        assert_int_equal(keep_peak(&k, START + i * KEEP_HALVES_US), i < 64 ? 512 * MIB >> i : 0);
    /* A clock that seems to go back, as it may between two processors, halves nothing. */
    assert_int_equal(keep_peak(&k, START - 10 * KEEP_HALVES_US), 512 * MIB);
    assert_int_equal(keep_peak(&k, 0), 512 * MIB);
}

static void test_peak_follows_what_is_seen(void **state) {
    (void)state;
    struct keep k = after_peak(512 * MIB);
    keep_saw(&k, 256 * MIB, START + KEEP_HALVES_US - 1); /* less: it was more a moment ago */
    assert_int_equal(k.peak, 512 * MIB);
    assert_int_equal(k.peak_at, START);
    keep_saw(&k, 600 * MIB, START + SECOND);
    assert_int_equal(k.peak, 600 * MIB);
    assert_int_equal(k.peak_at, START + SECOND);
    keep_saw(&k, 300 * MIB, START + SECOND + KEEP_HALVES_US); /* as much as the old one is worth now */
    assert_int_equal(k.peak, 300 * MIB);
    assert_int_equal(keep_peak(&k, START + SECOND + KEEP_HALVES_US), 300 * MIB);
}

static void test_regret_teaches_twice_as_much(void **state) {
    (void)state;
    struct keep k = after_peak(400 * MIB);
    assert_int_equal(keep_limit(&k, 0, FLOOR, START), FLOOR);
    keep_regret(&k, 100 * MIB, START, START + SECOND);
    assert_int_equal(keep_learned(&k, START + SECOND), 200 * MIB);
    assert_int_equal(keep_limit(&k, 0, FLOOR, START + SECOND), FLOOR + 200 * MIB);
    assert_int_equal(keep_limit(&k, 80 * MIB, FLOOR, START + SECOND), 10 * MIB + 200 * MIB);
    keep_regret(&k, 50 * MIB, START, START + 2 * SECOND);
    assert_int_equal(keep_learned(&k, START + 2 * SECOND), 300 * MIB);
}

static void test_regret_that_comes_late_is_none(void **state) {
    (void)state;
    struct keep k = after_peak(400 * MIB);
    keep_regret(&k, 100 * MIB, START, START + KEEP_SOON_US + 1);
    assert_int_equal(k.learned, 0);
    assert_int_equal(k.at, 0);
    keep_regret(&k, 100 * MIB, START, START + KEEP_SOON_US);
    assert_int_equal(keep_learned(&k, START + KEEP_SOON_US), 200 * MIB);
}

/* What lies above the last peak is of no use, however much was regretted. */
static void test_no_more_than_up_to_the_peak(void **state) {
    (void)state;
    struct keep k = after_peak(100 * MIB);
    keep_regret(&k, 400 * MIB, START, START);
    assert_int_equal(keep_learned(&k, START), 800 * MIB);
    assert_int_equal(keep_learned_below_peak(&k, 0, START), 100 * MIB);
    assert_int_equal(keep_learned_below_peak(&k, 70 * MIB, START), 30 * MIB);
    assert_int_equal(keep_learned_below_peak(&k, 100 * MIB, START), 0);
    assert_int_equal(keep_learned_below_peak(&k, 200 * MIB, START), 0);
    assert_int_equal(keep_limit(&k, 96 * MIB, FLOOR, START), 12 * MIB + 4 * MIB);
}

static void test_what_was_learned_halves(void **state) {
    (void)state;
    struct keep k = {.learned = 64 * MIB, .at = START};
    for (unsigned i = 0; i < 70; i++) {
        assert_int_equal(keep_learned(&k, START + i * KEEP_HALVES_US), i < 64 ? 64 * MIB >> i : 0);
        assert_int_equal(keep_learned(&k, START + (i + 1) * KEEP_HALVES_US - 1), i < 64 ? 64 * MIB >> i : 0);
    }
    assert_int_equal(keep_learned(&k, 0), 64 * MIB);
}

/* A lesson adds to what is left of the earlier ones, and the half-life begins again. */
static void test_lessons_add_up(void **state) {
    (void)state;
    struct keep k = {.learned = 64 * MIB, .at = START};
    uint64_t later = START + KEEP_HALVES_US + SECOND;
    keep_regret(&k, 1 * MIB, later - SECOND, later);
    assert_int_equal(keep_learned(&k, later), 32 * MIB + 2 * MIB);
    assert_int_equal(keep_learned(&k, later + KEEP_HALVES_US - 1), 34 * MIB);
    assert_int_equal(keep_learned(&k, later + KEEP_HALVES_US), 17 * MIB);
}

static void test_confirmed_is_what_is_left(void **state) {
    (void)state;
    struct keep k = {.learned = 64 * MIB, .at = START};
    keep_confirm(&k, 64 * MIB, START + KEEP_HALVES_US - 1);
    assert_int_equal(keep_learned(&k, START + 2 * KEEP_HALVES_US - 2), 64 * MIB);
    keep_confirm(&k, 64 * MIB, START + 3 * KEEP_HALVES_US - 1);
    assert_int_equal(keep_learned(&k, START + 3 * KEEP_HALVES_US - 1), 16 * MIB);
}

/* A quarter of it has to be used again while it halves. */
static void test_a_little_that_is_used_confirms_little(void **state) {
    (void)state;
    struct keep little = {.learned = 64 * MIB, .at = START};
    struct keep much = little;
    for (unsigned i = 1; i <= 15; i++) {
        keep_confirm(&little, MIB / 2, START + i * SECOND / 4);
        keep_confirm(&much, 2 * MIB, START + i * SECOND / 4);
    }
    assert_int_equal(keep_learned(&little, START + KEEP_HALVES_US + SECOND), 32 * MIB);
    assert_int_equal(keep_learned(&much, START + KEEP_HALVES_US + SECOND), 64 * MIB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share_and_floor),
        cmocka_unit_test(test_peak_halves),
        cmocka_unit_test(test_peak_follows_what_is_seen),
        cmocka_unit_test(test_regret_teaches_twice_as_much),
        cmocka_unit_test(test_regret_that_comes_late_is_none),
        cmocka_unit_test(test_no_more_than_up_to_the_peak),
        cmocka_unit_test(test_what_was_learned_halves),
        cmocka_unit_test(test_lessons_add_up),
        cmocka_unit_test(test_confirmed_is_what_is_left),
        cmocka_unit_test(test_a_little_that_is_used_confirms_little),
    };
    return UNIT_RUN(tests);
}
