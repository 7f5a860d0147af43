/* Free memory of arenas comes back by itself (rows N2, N3, N18). */
#include <errno.h>
#include <string.h>

#include "arena/arenas.h"
#include "arena/budget.h"
#include "arena/heap.h"
#include "arena/pages.h"
#include "arena/purge.h"
#include "arena/top.h"
#include "base/counter.h"
#include "options/keep.h"
#include "unit.h"

static const uint64_t second = 1000000;

/* What a look lets pass. */
#define SLACK (512 * KIB)

static void purging(size_t keep, size_t step) {
    without_cache();
    assume(OPT_ARENA_KEEP, keep);
    assume(OPT_PURGE_DELAY, 1000);
    assume(OPT_TOP_STEP, step);
    assume(OPT_MMAP_MAX, 0);
    pages_init(&main_arena);
    double_clock_advance(0);
}

static size_t purged_bytes(void) {
    return double_bytes(VERB_PURGE);
}

/* Blocks of `size`, written to. */
static void take_touched(void **blocks, size_t n, size_t size) {
    take(blocks, n, size);
    for (size_t i = 0; i < n; i++)
        memset(blocks[i], 0xee, size);
}

/* So many operations that somebody looks. */
static void go_on_a_little(void) {
    for (int i = 0; i < PURGE_LOOK_EVERY; i++)
        rung_free(rung_malloc(40));
}

enum { N = 3000, SIZE = 20000 };
static void *blocks[N];

/* Row N3: one live block at the end does not hold what lies before it. */
static void test_a_pinned_burst_goes_back(void **state) {
    (void)state;
    purging(1 * MIB, 1 * MIB);
    take_touched(blocks, N, SIZE);
    double_count_from_here();
    give(blocks, N - 1);
    assert_true(free_resident(&main_arena) <= 1 * MIB + SLACK);
    assert_in_range(purged_bytes(), N * SIZE - 2 * MIB - SLACK, N * SIZE); /* and nothing twice */
    assert_true(double_calls(VERB_PURGE) < 2 * N * SIZE / (256 * KIB));
    assert_sound();
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(((unsigned char *)blocks[N - 1])[i], 0xee);
    rung_malloc_trim(0);
    double_count_from_here();
    assert_int_equal(rung_malloc_trim(0), 0);
    assert_int_equal(double_fallible_calls(), 0);
    assert_sound();
}

static void test_off(void **state) {
    (void)state;
    purging(0, 0);
    take_touched(blocks, N, SIZE);
    give(blocks, N - 1);
    double_clock_advance(100 * second);
    go_on_a_little();
    assert_int_equal(double_calls(VERB_PURGE), 0);
    assert_sound();
}

/* Many holes, each with a few pages. */
static void test_holes(void **state) {
    (void)state;
    purging(256 * KIB, 1 * MIB);
    take_touched(blocks, N, SIZE);
    double_count_from_here();
    for (size_t i = 0; i < N; i += 2)
        rung_free(blocks[i]);
    size_t share = main_arena.system / 8 + SLACK;
    assert_true(free_resident(&main_arena) <= share);
    assert_true(purged_bytes() >= N / 2 * (SIZE / 4096 - 2) * 4096 - share);
    assert_sound();
    for (size_t i = 1; i < N; i += 2)
        for (size_t k = 0; k < SIZE; k += 100)
            assert_int_equal(((unsigned char *)blocks[i])[k], 0xee);
    for (size_t i = 1; i < N; i += 2)
        rung_free(blocks[i]);
    assert_sound();
}

/* What is within the budget stays until it is old. */
static void test_age(void **state) {
    (void)state;
    purging(4 * MIB, 1 * MIB);
    take_touched(blocks, 30, SIZE);
    double_count_from_here();
    for (size_t i = 0; i < 30; i += 2)
        rung_free(blocks[i]);
    go_on_a_little();
    double_clock_advance(second / 2);
    go_on_a_little();
    assert_int_equal(double_calls(VERB_PURGE), 0);
    double_clock_advance(second);
    go_on_a_little();
    assert_int_equal(double_calls(VERB_PURGE), 15);
    assert_int_equal(main_arena.resident_bytes, 0);
    double_clock_advance(10 * second);
    go_on_a_little();
    assert_int_equal(double_calls(VERB_PURGE), 15);
    assert_sound();
    assume(OPT_PURGE_DELAY, 0);
    rung_free(blocks[1]);
    double_clock_advance(100 * second);
    go_on_a_little();
    assert_int_equal(double_calls(VERB_PURGE), 15);
    assert_sound();
}

static bool purge_all_pages_locked(void) {
    assert_true(arena_enter(self.arena));
    bool gave = purge_all_pages(self.arena);
    arena_leave(self.arena);
    return gave;
}

/* A hole of 64 pages and more, whose pages are gone, between two blocks. */
static char *purged_hole(size_t size) {
    take_touched(blocks, 1, size);
    take_touched(blocks + 1, 1, 64);
    rung_free(blocks[0]);
    assert_true(purge_all_pages_locked());
    double_count_from_here();
    return blocks[0];
}

/* Of a hole that is used in part only that part is ever purged again. */
static void test_a_split_hole(void **state) {
    (void)state;
    purging(4 * MIB, 1 * MIB);
    char *hole = purged_hole(1 * MIB);
    char *front = rung_malloc(100000);
    assert_ptr_equal(front, hole);
    memset(front, 1, 100000);
    assert_int_equal(main_arena.resident_bytes, 0);
    assert_sound();
    rung_free(front);
    assert_in_range(main_arena.resident_bytes, 100000 - 2 * 4096, 100000 + 2 * 4096);
    assert_sound();
    assert_true(purge_all_pages_locked());
    assert_in_range(purged_bytes(), 100000 - 2 * 4096, 100000 + 2 * 4096);
    assert_false(purge_all_pages_locked());
    assert_int_equal(double_calls(VERB_PURGE), 1);
}

/* Neighbours of purged holes: before, behind, and between two. */
static void test_merged_holes(void **state) {
    (void)state;
    purging(4 * MIB, 1 * MIB);
    void *p[5];
    take_touched(p, 5, 200000);
    rung_free(p[1]);
    rung_free(p[3]);
    assert_true(purge_all_pages_locked());
    double_count_from_here();
    rung_free(p[2]); /* the three are one */
    assert_in_range(main_arena.resident_bytes, 200000 - 2 * 4096, 200000 + 2 * 4096);
    assert_sound();
    assert_true(purge_all_pages_locked());
    assert_in_range(purged_bytes(), 200000 - 2 * 4096, 200000 + 2 * 4096);
    double_count_from_here();
    rung_free(p[0]);
    assert_in_range(main_arena.resident_bytes, 200000 - 2 * 4096, 200000 + 2 * 4096);
    assert_true(purge_all_pages_locked());
    assert_in_range(purged_bytes(), 200000 - 2 * 4096, 200000 + 2 * 4096);
    assert_sound();
    rung_free(p[4]); /* into top */
    assert_int_equal(main_arena.free_pages, 0);
    assert_sound();
}

static void test_growing_into_a_hole(void **state) {
    (void)state;
    purging(4 * MIB, 1 * MIB);
    void *p[3];
    take_touched(p, 3, 200000);
    rung_free(p[1]);
    assert_true(purge_all_pages_locked());
    p[0] = rung_realloc(p[0], 300000);
    assert_sound();
    p[0] = rung_realloc(p[0], 250000);
    assert_sound();
    p[0] = rung_realloc(p[0], 100000);
    assert_sound();
    give(p, 1);
    assert_sound();
}

/* Row N2: what the program takes again is learned, and then costs nothing. */
static void test_a_swing_is_learned(void **state) {
    (void)state;
    purging(1 * MIB, 1 * MIB);
    for (int round = 0; round < 20; round++) {
        take_touched(blocks, N, SIZE);
        if (round == 4) {
            assert_true(counter_get(COUNT_HEAP_REGRETS) > 10 * MIB);
            double_count_from_here();
        }
        double_clock_advance(second / 20);
        give(blocks, N - 1);
        double_clock_advance(second / 20);
        give(blocks + N - 1, 1);
    }
    assert_true(double_fallible_calls() < 20);
    assert_sound();
    /* And forgotten. */
    double_clock_advance(60 * second);
    go_on_a_little();
    go_on_a_little();
    assert_true(free_resident(&main_arena) <= 2 * MIB);
    assert_sound();
}

/* Holes of the wrong sizes are no waste as long as others of the same kind come: a program that replaces
   blocks of all sizes is not made to pay for each. */
static void test_random_replacement_is_learned(void **state) {
    (void)state;
    purging(1 * MIB, 1 * MIB);
    enum { SLOTS = 60, ROUNDS = 6000 };
    uint64_t random = 12345;
    size_t asked = 0;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t k = random >> 33 & 0xffff, size = 1000 + (random >> 20) % 2000000;
        if (i == ROUNDS / 3) {
            double_count_from_here();
            asked = 0;
        }
        rung_free(blocks[k % SLOTS]);
        blocks[k % SLOTS] = rung_malloc(size);
        asked += size;
        double_clock_advance(500);
    }
    assert_true(purged_bytes() < asked / 20);
    assert_true(double_calls(VERB_BREAK) < 50);
    assert_sound();
}

static void test_limit_with_holes(void **state) {
    (void)state;
    struct keep keep = {.learned = 100 * MIB, .at = second};
    keep_saw(&keep, 50 * MIB, second);
    /* The share, and up to the peak. */
    assert_int_equal(keep_limit_with_holes(&keep, 0, 1 * MIB, second), 51 * MIB);
    assert_int_equal(keep_limit_with_holes(&keep, 16 * MIB, 1 * MIB, second), 2 * MIB + 34 * MIB);
    /* Or as much again as is in use. */
    assert_int_equal(keep_limit_with_holes(&keep, 40 * MIB, 1 * MIB, second), 5 * MIB + 40 * MIB);
    assert_int_equal(keep_limit_with_holes(&keep, 64 * MIB, 1 * MIB, second), 8 * MIB + 64 * MIB);
    /* But no more than what was learned, of which 25 MiB are left. */
    assert_int_equal(keep_limit_with_holes(&keep, 64 * MIB, 1 * MIB, 9 * second), 8 * MIB + 25 * MIB);
    assert_int_equal(keep_limit_with_holes(&keep, 0, 1 * MIB, 1000 * second), 1 * MIB);
}

/* ---- top ---- */

static void test_top_goes_when_it_is_too_much(void **state) {
    (void)state;
    purging(1 * MIB, 1 * MIB);
    take_touched(blocks, N, SIZE);
    double_count_from_here();
    for (size_t i = N; i-- > 0;)
        rung_free(blocks[i]);
    assert_true(top_size(&main_arena) <= 3 * MIB);
    assert_true(double_calls(VERB_BREAK) <= N * SIZE / (1 * MIB) + 1);
    assert_sound();
}

/* Something lies behind it: it stays, and its pages go. */
static void test_top_that_cannot_shrink(void **state) {
    (void)state;
    purging(1 * MIB, 1 * MIB);
    take_touched(blocks, N, SIZE);
    assert_non_null(double_program_sbrk(4096));
    double_count_from_here();
    for (size_t i = N; i-- > 0;)
        rung_free(blocks[i]);
    assert_true(top_size(&main_arena) >= N * SIZE);
    assert_true(top_resident(&main_arena) <= 3 * MIB);
    assert_in_range(purged_bytes(), N * SIZE - 4 * MIB, N * SIZE);
    assert_int_equal(rung_heap_check(), 0);
    take_touched(blocks, N, SIZE); /* and it is used again */
    assert_int_equal(rung_heap_check(), 0);
    give(blocks, N);
    assert_int_equal(rung_heap_check(), 0);
}

static void test_top_ages(void **state) {
    (void)state;
    purging(64 * MIB, 1 * MIB);
    take_touched(blocks, 1000, SIZE);
    for (size_t i = 1000; i-- > 0;)
        rung_free(blocks[i]);
    assert_true(top_resident(&main_arena) > 1000 * SIZE);
    for (int i = 0; i < 4; i++) {
        go_on_a_little();
        double_clock_advance(second * 6 / 10);
    }
    go_on_a_little();
    assert_true(top_resident(&main_arena) <= 3 * MIB);
    assert_sound();
}

/* What is used of top within the time is not given back, though it is free at the moment. */
static void test_top_in_use_now_and_then(void **state) {
    (void)state;
    purging(64 * MIB, 1 * MIB);
    for (int i = 0; i < 50; i++) {
        take_touched(blocks, 500, SIZE);
        for (size_t k = 500; k-- > 0;)
            rung_free(blocks[k]);
        if (i == 10)
            double_count_from_here();
        double_clock_advance(second / 4);
    }
    assert_int_equal(double_calls(VERB_BREAK), 0);
    assert_int_equal(double_calls(VERB_PURGE), 0);
    assert_sound();
}

/* ---- secondary arenas ---- */

enum { MANY = 40000 };
static void *many[MANY];

static struct arena *secondary(void) {
    self.arena = NULL;
    rung_free(rung_malloc(16));
    assert_ptr_not_equal(self.arena, &main_arena);
    return self.arena;
}

/* Row N18: 80 MB up and down; profile glibc needs 19,627 mprotect and 19,625 madvise calls. */
static void test_calls_a_megabyte(void **state) {
    (void)state;
    purging(1 * MIB, 1 * MIB);
    secondary();
    double_count_from_here();
    take_touched(many, MANY, 2000);
    assert_true(double_fallible_calls() <= 90);
    assert_sound();
    double_count_from_here();
    for (size_t i = MANY; i-- > 0;)
        rung_free(many[i]);
    assert_true(double_fallible_calls() <= 160);
    assert_true(free_resident(self.arena) <= 2 * MIB + SLACK);
    assert_int_equal(counter_get(COUNT_SUBHEAPS), 1);
    assert_sound();
}

/* The same to and fro over a window's end and a step's. */
static void test_no_calls_to_and_fro(void **state) {
    (void)state;
    purging(1 * MIB, 1 * MIB);
    secondary();
    take_touched(many, 300, 2000);
    double_count_from_here();
    for (int i = 0; i < 1000; i++) {
        take_touched(many + 300, 200, 2000);
        for (size_t k = 500; k-- > 300;)
            rung_free(many[k]);
    }
    assert_true(double_fallible_calls() <= 2);
    assert_sound();
}

static void test_holes_of_a_secondary_arena(void **state) {
    (void)state;
    purging(256 * KIB, 1 * MIB);
    secondary();
    take_touched(many, MANY, 2000);
    double_count_from_here();
    for (size_t i = 0; i < MANY; i++)
        if (i % 20 != 7)
            rung_free(many[i]);
    assert_true(purged_bytes() > 60 * MIB);
    assert_sound();
    for (size_t i = 7; i < MANY; i += 20)
        rung_free(many[i]);
    rung_malloc_trim(0);
    assert_int_equal(counter_get(COUNT_SUBHEAPS), 1);
    assert_sound();
}

/* Nobody is in it any more: those who are elsewhere look after it. */
static void test_an_idle_arena_is_helped(void **state) {
    (void)state;
    purging(8 * MIB, 1 * MIB);
    struct arena *idle = secondary();
    take_touched(blocks, 60, SIZE);
    for (size_t i = 0; i < 60; i += 2)
        rung_free(blocks[i]);
    go_on_a_little();
    assert_true(idle->resident_bytes > 30 * 12000);
    self.arena = &main_arena;
    double_clock_advance(2 * second);
    for (int i = 0; i < 4; i++)
        go_on_a_little();
    assert_int_equal(idle->resident_bytes, 0);
    assert_sound();
}

/* ---- kernels ---- */

static void test_refused_purge(void **state) {
    (void)state;
    purging(64 * KIB, 1 * MIB);
    double_fail_verb(VERB_PURGE);
    take_touched(blocks, 500, SIZE);
    double_count_from_here();
    for (size_t i = 0; i < 500; i += 2)
        rung_free(blocks[i]);
    assert_true(double_calls(VERB_PURGE) <= 250); /* no hole is tried twice */
    assert_sound();
    size_t calls = double_calls(VERB_PURGE);
    go_on_a_little();
    assert_true(double_calls(VERB_PURGE) - calls <= 250);
    double_heal();
    take_touched(blocks, 500, SIZE);
    give(blocks, 500);
    assert_sound();
}

/* FIELD 23: a kernel that says yes and does nothing. */
static void test_zeros_are_not_taken_for_granted(void **state) {
    (void)state;
    purging(64 * KIB, 1 * MIB);
    double_purge_leaves(true);
    for (int kind = 0; kind < 2; kind++) {
        if (kind == 1)
            secondary();
        take_touched(blocks, 500, SIZE);
        for (size_t i = 0; i < 500; i++)
            if (i % 5 != 0)
                rung_free(blocks[i]);
        for (int i = 0; i < 200; i++) {
            unsigned char *p = rung_calloc(3, SIZE);
            for (size_t k = 0; k < 3 * SIZE; k++)
                if (p[k] != 0)
                    fail_msg("byte %zu of a calloc is 0x%02x", k, p[k]);
            memset(p, 0xff, 3 * SIZE);
            if (i % 2 == 0)
                rung_free(p);
        }
        assert_sound();
    }
}

/* Rows D6: the end of a window loses its access. */
static void test_strict_commit(void **state) {
    (void)state;
    struct os_facts facts = os_facts;
    facts.strict_commit = true;
    double_set_facts(&facts);
    purging(1 * MIB, 1 * MIB);
    secondary();
    take_touched(many, MANY, 2000);
    double_count_from_here();
    for (size_t i = MANY; i-- > 0;)
        rung_free(many[i]);
    assert_true(double_calls(VERB_DECOMMIT) > 0);
    assert_true(double_accessible() <= 5 * MIB);
    assert_sound();
}

/* A step more than what is needed is not insisted on. */
static void test_near_a_limit(void **state) {
    (void)state;
    purging(1 * MIB, 4 * MIB);
    struct arena *a = secondary();
    take_touched(blocks, 10, SIZE);
    double_limit(double_accessible() + 8192);
    size_t got = 0;
    while (got < N && (blocks[got] = rung_malloc(2000)) != NULL)
        got++;
    assert_true(got > 1000); /* what was made accessible ahead */
    assert_sound();
    give(blocks, got);
    double_limit(SIZE_MAX);
    assert_ptr_equal(self.arena, a);
    assert_sound();
}

static void larger_pages(size_t page) {
    struct os_facts facts = os_facts;
    facts.page = page;
    double_set_facts(&facts);
    purging(256 * KIB, 1 * MIB);
    take_touched(blocks, 400, 3 * 65536);
    double_count_from_here();
    for (size_t i = 0; i < 400; i += 2)
        rung_free(blocks[i]);
    assert_true(purged_bytes() > 200 * 65536 / 2);
    assert_sound();
    for (size_t i = 1; i < 400; i += 2)
        rung_free(blocks[i]);
    assert_sound();
    rung_malloc_trim(0);
    assert_sound();
}

static void test_pages_of_16k(void **state) {
    (void)state;
    larger_pages(16384);
}

static void test_pages_of_64k(void **state) {
    (void)state;
    larger_pages(65536);
}

/* Somebody forks at this moment: no lesson, but all goes on. */
static void test_without_the_budget(void **state) {
    (void)state;
    purging(64 * KIB, 1 * MIB);
    lock_fork_freeze(&budget_lock, 0);
    take_touched(blocks, 500, SIZE);
    for (size_t i = 0; i < 500; i += 2)
        rung_free(blocks[i]);
    lock_fork_thaw(&budget_lock);
    assert_sound();
    go_on_a_little();
    assert_true(free_resident(&main_arena) <= main_arena.system / 8 + SLACK);
}

static void overwrite_a_note(void) {
    void *p[3];
    purging(64 * MIB, 1 * MIB);
    take_touched(p, 3, 100000);
    rung_free(p[1]);
    struct page_note *n = pages_note(chunk_of_mem(p[1]), chunk_bytes(p[1]));
    static struct link elsewhere = {&elsewhere, &elsewhere};
    n->link.next = &elsewhere;
    rung_free(p[0]);
}

static void test_an_overwritten_note(void **state) {
    (void)state;
    assert_dies(overwrite_a_note, "corrupted double-linked list\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pinned_burst_goes_back),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_holes),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_a_split_hole),
        cmocka_unit_test(test_merged_holes),
        cmocka_unit_test(test_growing_into_a_hole),
        cmocka_unit_test(test_a_swing_is_learned),
        cmocka_unit_test(test_random_replacement_is_learned),
        cmocka_unit_test(test_limit_with_holes),
        cmocka_unit_test(test_top_goes_when_it_is_too_much),
        cmocka_unit_test(test_top_that_cannot_shrink),
        cmocka_unit_test(test_top_ages),
        cmocka_unit_test(test_top_in_use_now_and_then),
        cmocka_unit_test(test_calls_a_megabyte),
        cmocka_unit_test(test_no_calls_to_and_fro),
        cmocka_unit_test(test_holes_of_a_secondary_arena),
        cmocka_unit_test(test_an_idle_arena_is_helped),
        cmocka_unit_test(test_refused_purge),
        cmocka_unit_test(test_zeros_are_not_taken_for_granted),
        cmocka_unit_test(test_strict_commit),
        cmocka_unit_test(test_near_a_limit),
        cmocka_unit_test(test_pages_of_16k),
        cmocka_unit_test(test_pages_of_64k),
        cmocka_unit_test(test_without_the_budget),
        cmocka_unit_test(test_an_overwritten_note),
    };
    return UNIT_RUN(tests);
}
