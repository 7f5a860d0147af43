/* The account of the memory that is the library's, and what is allowed by it. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "arena/arenas.h"
#include "base/counter.h"
#include "chunk/footprint.h"
#include "reclaim/limit.h"
#include "reclaim/trim.h"
#include "runs/run.h"
#include "runs/space.h"

static int with_runs(void **state) {
    (void)state;
    assume(OPT_RUNS, 1);
    assume(OPT_RUN_BLOCK_MAX, 32 * MIB);
    return 0;
}

static int with_arenas(void **state) {
    (void)state;
    assume(OPT_RUNS, 0);
    return 0;
}

/* Bytes of pages in runs that were given back, counted in the runs. */
static size_t gone_in_runs(void) {
    size_t pages = 0;
    for (int kind = 0; kind < SPACE_KINDS; kind++)
        for (struct run_window *w = space_windows[kind].oldest; w != NULL; w = w->newer)
            for (unsigned i = HEAD_RUNS; i < RUNS_A_WINDOW; i++)
                if (w->slot[i] != SLOT_PAGES)
                    pages += (size_t)__builtin_popcount(w->run[i].gone);
    return pages * os_facts.page;
}

static void assert_account(void) {
    size_t bytes = counter_get(COUNT_MAPPED_BYTES) + counter_get(COUNT_META_MAPPED);
    bytes += space_totals.in_use + space_totals.resident_free + space_totals.heads - gone_in_runs();
    struct arena *a = &main_arena;
    do {
        bytes += a->system;
        a = arena_next(a);
    } while (a != &main_arena);
    assert_int_equal(footprint(), bytes);
    assert_int_equal(self.asked, 0);
}

enum { BLOCKS = 400 };

static size_t some_size(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    size_t bits = *seed >> 33;
    return bits % 64 == 0 ? bits / 64 % (3 * MIB) : bits % 7 == 0 ? bits / 64 % 100000 : bits / 64 % 3000;
}

static void work(void **blocks, uint64_t *seed, int steps) {
    for (int i = 0; i < steps; i++) {
        size_t size = some_size(seed);
        void **at = &blocks[(*seed >> 20) % BLOCKS];
        switch ((*seed >> 50) % 4) {
        case 0:
            rung_free(*at);
            *at = NULL;
            break;
        case 1: {
            void *moved = rung_realloc(*at, size + 1);
            *at = moved != NULL ? moved : *at;
            break;
        }
        case 2:
            rung_free(*at);
            *at = rung_memalign((size_t)16 << (*seed >> 45) % 10, size);
            break;
        default:
            rung_free(*at);
            *at = rung_malloc(size);
        }
    }
}

static void test_account(void **state) {
    (void)state;
    static void *blocks[BLOCKS];
    for (uint64_t round = 0; round < 20; round++) {
        uint64_t seed = round + 1;
        work(blocks, &seed, 2000);
        assert_account();
        if (round % 3 == 0) {
            (void)trim_everything(0);
            assert_account();
        }
    }
    give(blocks, BLOCKS);
    assert_account();
    assert_sound();
}

/* Limits are set, and the system refuses now and then: nothing that was asked for stays asked for. */
static void test_account_in_trouble(void **state) {
    (void)state;
    static void *blocks[BLOCKS];
    rung_set_hard_limit(footprint() + 12 * MIB);
    rung_set_soft_limit(footprint() + 8 * MIB);
    for (uint64_t round = 0; round < 60; round++) {
        uint64_t seed = round + 1;
        if (round % 2 == 0)
            double_fail(1 + round % 7, 1 + round % 7 + round % 5 * 20);
        work(blocks, &seed, 300);
        double_heal();
        assert_account();
        assert_true(footprint() <= rung_option("hard_limit"));
    }
    assert_true(counter_get(COUNT_LIMIT_REFUSALS) > 0);
    assert_true(counter_get(COUNT_LIMIT_PURGES) > 0);
    give(blocks, BLOCKS);
    assert_sound();
    assert_account();
    /* All of it can be had again, to the last page or so. */
    size_t total = 0;
    void *kept = NULL;
    for (void **mem; (mem = rung_malloc(10000)) != NULL; kept = mem, total += 10000)
        *mem = kept;
    assert_int_equal(errno, ENOMEM);
    assert_true(footprint() > rung_option("hard_limit") - MIB);
    assert_true(total > 8 * MIB);
    while (kept != NULL) {
        void *next = *(void **)kept;
        rung_free(kept);
        kept = next;
    }
}

/* What is asked for by one thread is not there for another, until it is told. */
static void ask_for_nine(void *answer) {
    *(bool *)answer = footprint_ask(9 * MIB);
    footprint_told();
}

static void test_asked_counts(void **state) {
    (void)state;
    bool answer;
    in_thread(ask_for_nine, &answer); /* whatever a first thread takes */
    rung_set_hard_limit(footprint() + 16 * MIB);
    assert_false(footprint_ask(17 * MIB));
    assert_false(footprint_ask(SIZE_MAX));
    assert_int_equal(self.asked, 0);
    assert_true(footprint_ask(4 * MIB));
    assert_true(footprint_ask(4 * MIB));
    in_thread(ask_for_nine, &answer);
    assert_false(answer);
    footprint_told();
    in_thread(ask_for_nine, &answer);
    assert_true(answer);
    assert_true(footprint_ask(15 * MIB));
    footprint_told();
}

static void test_may_keep(void **state) {
    (void)state;
    assert_int_equal(footprint_may_keep(100), SIZE_MAX);
    assert_non_null(rung_malloc(MIB));
    size_t all = footprint();
    rung_set_soft_limit(all + 10 * MIB);
    assert_int_equal(footprint_may_keep(0), 5 * MIB);
    rung_set_hard_limit(all + 6 * MIB);
    assert_int_equal(footprint_may_keep(0), 3 * MIB);
    rung_set_soft_limit(all / 2);
    assert_int_equal(footprint_may_keep(0), 0);
    assert_int_equal(footprint_may_keep(SIZE_MAX), all / 4);
}

static unsigned calls;

static void count_call(size_t used, void *arg) {
    (void)used;
    (void)arg;
    calls++;
}

/* Below a held lock, as in a signal handler that interrupted malloc, nothing is purged and nobody called. */
static void test_not_with_a_lock(void **state) {
    (void)state;
    rung_on_soft_limit(count_call, NULL);
    rung_set_soft_limit(footprint() + MIB);
    assert_true(lock_take(&main_arena.lock));
    void *mem = rung_malloc(40 * MIB);
    assert_non_null(mem);
    assert_int_equal(calls, 0);
    lock_release(&main_arena.lock);
    void *more = rung_malloc(2 * MIB);
    assert_int_equal(calls, 1);
    rung_free(mem);
    rung_free(more);
}

/* Where soft_limit is not set itself. */
static void test_the_group_sets_the_soft_limit(void **state) {
    (void)state;
    double_memory_high = 64 * MIB;
    footprint_begin();
    assert_int_equal(option(OPT_SOFT_LIMIT), 0);
    assume(OPT_SOFT_LIMIT_CGROUP, 1);
    footprint_begin();
    assert_int_equal(option(OPT_SOFT_LIMIT), 64 * MIB);
}

static void test_a_limit_that_is_set_comes_first(void **state) {
    (void)state;
    double_memory_high = 64 * MIB;
    assume(OPT_SOFT_LIMIT_CGROUP, 1);
    assume(OPT_SOFT_LIMIT, 32 * MIB);
    footprint_begin();
    assert_int_equal(option(OPT_SOFT_LIMIT), 32 * MIB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_group_sets_the_soft_limit),
        cmocka_unit_test(test_a_limit_that_is_set_comes_first),
        cmocka_unit_test_setup(test_account, with_runs),
        cmocka_unit_test_setup(test_account, with_arenas),
        cmocka_unit_test_setup(test_account_in_trouble, with_runs),
        cmocka_unit_test_setup(test_account_in_trouble, with_arenas),
        cmocka_unit_test_setup(test_asked_counts, with_arenas),
        cmocka_unit_test_setup(test_may_keep, with_arenas),
        cmocka_unit_test_setup(test_not_with_a_lock, with_arenas),
    };
    return UNIT_RUN(tests);
}
