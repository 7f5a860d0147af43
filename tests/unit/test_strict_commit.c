/* FIELD 16: where every accessible page counts against the machine's memory (vm.overcommit_memory is 2), what is
   accessible stays close to what is live. In the profile `default`. */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "unit.h"


enum { SMALL = 100000, LARGE = 100 };

static void *blocks[SMALL];
static size_t sizes[SMALL];
static size_t live;
static uint64_t seed = 1;

static size_t below(size_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

static int strict(void **state) {
    (void)state;
    option_use_profile(PROFILE_DEFAULT);
    struct os_facts facts = os_facts;
    facts.strict_commit = true;
    double_set_facts(&facts);
    return 0;
}

static void fill(size_t n, size_t least, size_t most) {
    for (size_t i = 0; i < n; i++) {
        sizes[i] = least + below(most - least + 1);
        blocks[i] = rung_malloc(sizes[i]);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, 1);
        live += sizes[i];
    }
}

static void drop(size_t i) {
    rung_free(blocks[i]);
    blocks[i] = NULL;
    live -= sizes[i];
}

/* `share`: so many hundredths of what is live on top of it, and what a window's head takes. */
static void assert_close(const char *when, size_t share) {
    size_t accessible = double_accessible();
    printf("%s: %zu KiB live, %zu KiB accessible\n", when, live / KIB, accessible / KIB);
    fflush(stdout);
    if (accessible > live + live / 100 * share + 4 * MIB)
        fail_msg("%s: %zu KiB are accessible, %zu KiB live", when, accessible / KIB, live / KIB);
    assert_sound();
}

/* No more is made accessible ahead than is about to be used. */
static void test_growing(void **state) {
    (void)state;
    for (int step = 0; step < 10; step++) {
        for (size_t i = (size_t)step * SMALL / 10; i < (size_t)(step + 1) * SMALL / 10; i++) {
            sizes[i] = 16 + below(2000);
            blocks[i] = rung_malloc(sizes[i]);
            assert_non_null(blocks[i]);
            live += sizes[i];
        }
        assert_close("growing", 12);
    }
}

static void test_all_freed_but_the_last(void **state) {
    (void)state;
    fill(SMALL, 100, 1999);
    assert_close("the burst", 12);
    size_t peak = double_accessible();
    for (size_t i = 0; i + 1 < SMALL; i++)
        drop(i);
    /* What the thread's cache has pins a run of each size, and windows keep their heads. */
    size_t left = double_accessible();
    rung_malloc_trim(0);
    printf("after the burst: %zu KiB accessible, %zu KiB after malloc_trim\n", left / KIB, double_accessible() / KIB);
    fflush(stdout);
    assert_true(left < peak / 6);
    assert_true(double_accessible() < 6 * MIB);
    assert_sound();
}

static void test_large_blocks(void **state) {
    (void)state;
    fill(LARGE, 40 * KIB, 4 * MIB);
    assert_close("large blocks", 2);
    for (size_t i = 0; i < LARGE; i++)
        if (i % 2 == 0)
            drop(i);
    assert_close("half of them", 14); /* an eighth of what is in use may stay */
    for (size_t i = 1; i < LARGE; i += 2)
        drop(i);
    rung_malloc_trim(0);
    assert_close("none of them", 0);
}

/* One page in five holds a survivor. Pages between survivors are given back and stay accessible, as each that did
   not would split a mapping: those are limited as well (FIELD 15). What is between runs is not accessible. */
static void test_holes(void **state) {
    (void)state;
    const size_t allowed_mappings = 65530 / 10;
    fill(SMALL, 2048, 2048);
    size_t peak = double_accessible(), most = double_mappings();
    for (size_t i = 0; i < SMALL; i++) {
        if (below(20) != 0)
            drop(i);
        if (i % 1000 == 0 && double_mappings() > most)
            most = double_mappings();
    }
    rung_malloc_trim(0);
    most = double_mappings() > most ? double_mappings() : most;
    size_t given = double_bytes(VERB_PURGE);
    printf("holes: %zu KiB at the peak, %zu KiB given back, %zu KiB accessible, %zu mappings at the most\n", peak / KIB,
           given / KIB, double_accessible() / KIB, most);
    fflush(stdout);
    assert_true(given > peak / 2);
    assert_true(most < allowed_mappings);
    assert_sound();
}

/* Blocks of pages, each second one freed: the same for those. */
static void test_comb(void **state) {
    (void)state;
    enum { TEETH = 4000 };
    const size_t allowed_mappings = 65530 / 10;
    fill(TEETH, 40 * KIB, 40 * KIB);
    for (size_t i = 0; i < TEETH; i += 2)
        drop(i);
    rung_malloc_trim(0);
    printf("comb: %zu KiB live, %zu KiB accessible, %zu mappings\n", live / KIB, double_accessible() / KIB,
           double_mappings());
    fflush(stdout);
    assert_close("comb", 14);
    assert_true(double_mappings() < allowed_mappings);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_growing, strict),
        cmocka_unit_test_setup(test_all_freed_but_the_last, strict),
        cmocka_unit_test_setup(test_large_blocks, strict),
        cmocka_unit_test_setup(test_holes, strict),
        cmocka_unit_test_setup(test_comb, strict),
    };
    return UNIT_RUN(tests);
}
