/* The purge thread from the inside, and what it does: reclaim/age.h. */
#include "unit.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/counter.h"
#include "cache/depot.h"
#include "chunk/purger.h"
#include "options/keep.h"
#include "reclaim/age.h"
#include "runs/run.h"
#include "runs/space.h"

static int with_runs(void **state) {
    (void)state;
    assume(OPT_RUNS, 1);
    assume(OPT_RUN_BLOCK_MAX, 32 * MIB);
    assume(OPT_PURGE_DELAY, 20);
    assume(OPT_RUN_KEEP, 0);
    return 0;
}

static void nap(unsigned ms) {
    usleep(ms * 1000);
}

static size_t resident_free(void) {
    assert_true(lock_take(&space_lock));
    size_t bytes = space_totals.resident_free;
    lock_release(&space_lock);
    return bytes + atomic_load(&runs_idle);
}

enum { BLOCKS = 3000, SIZE = 3000 };
static void *blocks[BLOCKS];

/* Nothing is purged meanwhile, and so nothing is learned that would have to be forgotten first. */
static void swing(void) {
    assume(OPT_RUN_KEEP, 256 * MIB);
    take(blocks, BLOCKS, SIZE);
    for (size_t i = 0; i < BLOCKS; i++)
        memset(blocks[i], 1, SIZE);
    give(blocks, BLOCKS);
    assume(OPT_RUN_KEEP, 0);
}

/* Until there is nothing left, but not for ever. */
static int passes_until_done(void) {
    int passes = 0;
    while (reclaim_by_age() != RECLAIM_NOTHING_LEFT && passes < 1000) {
        nap(25);
        passes++;
    }
    return passes;
}

static void test_age_alone(void **state) {
    (void)state;
    assert_true(reclaim_by_age() == RECLAIM_NOTHING_LEFT);
    swing();
    assume(OPT_RUN_KEEP, 64 * MIB); /* it is not beyond anything */
    assert_true(passes_until_done() <= 2); /* but what lies in the cache */
    assume(OPT_RUN_KEEP, 0);
    assume(OPT_PURGE_DELAY, 0);
    assert_true(reclaim_by_age() == RECLAIM_NOTHING_LEFT);
    assume(OPT_PURGE_DELAY, 20);
    int passes = passes_until_done();
    assert_true(passes < 1000);
    assert_true(resident_free() <= 256 * KIB);
    assert_int_equal(reclaim_by_age(), RECLAIM_NOTHING_LEFT);
    assert_sound();
}

/* What a thread has left on the shelves and nobody takes goes home, and its pages with it. */
static void leave_on_shelves(void *unused) {
    (void)unused;
    rung_free(rung_malloc(100)); /* a second cache: there is somebody to leave things for */
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        void *some[8];
        (void)depot_take(bin, some, 64); /* a wish, so that there is room */
        size_t n = runs_take(bin, some, 8);
        depot_leave(bin, some, n);
    }
}

static void test_shelves_age(void **state) {
    (void)state;
    rung_free(rung_malloc(100));
    in_thread(leave_on_shelves, NULL);
    assert_true(depot_bytes() > 0);
    (void)reclaim_by_age();
    (void)reclaim_by_age();
    assert_int_equal(depot_bytes(), 0);
    assert_sound();
}

/* A page that the kernel does not take back is no reason to ask for ever. */
static void test_gives_up(void **state) {
    (void)state;
    assume(OPT_RUN_HUGE_FROM, 1); /* huge pages, each of which is mostly in use */
    void *kept[BLOCKS];
    take(kept, BLOCKS, SIZE);
    take(blocks, BLOCKS, SIZE);
    for (size_t i = 0; i < BLOCKS; i++)
        if (i % 8 == 0)
            rung_free(kept[i]);
    int passes = passes_until_done();
    assert_true(passes < 1000);
    assert_sound();
}

static void await(enum purger_state state) {
    for (int i = 0; i < 1000 && purger_is() != state; i++)
        nap(20);
    assert_int_equal(purger_is(), state);
}

static void test_thread_sleeps_and_wakes(void **state) {
    (void)state;
    assert_int_equal(purger_is(), PURGER_NONE);
    assert_int_equal(rung_purge_thread(1), 0);
    await(PURGER_ASLEEP);
    swing();
    rung_free(rung_malloc(16 * MIB)); /* down to the space, where the thread is woken */
    assert_int_not_equal(purger_is(), PURGER_ASLEEP);
    await(PURGER_ASLEEP);
    assert_true(resident_free() <= 256 * KIB);
    take(blocks, BLOCKS, SIZE);
    give(blocks, BLOCKS);
    assert_int_not_equal(purger_is(), PURGER_ASLEEP);
    assert_int_equal(rung_purge_thread(0), 0);
    assert_int_equal(purger_is(), PURGER_NONE);
    assert_sound();
}

/* The first allocation that takes pages starts it, once there is more than run_keep. */
static void test_starts_by_itself(void **state) {
    (void)state;
    assume(OPT_RUN_KEEP, 8 * MIB);
    assert_int_equal(rung_purge_thread(1), 0);
    assert_int_equal(rung_purge_thread(0), 0);
    assume(OPT_PURGE_THREAD, 1);
    rung_set_hard_limit(0); /* the options are looked at again */
    void *mem = rung_malloc(MIB);
    assert_int_equal(purger_is(), PURGER_NONE);
    void *more = rung_malloc(16 * MIB);
    assert_int_equal(purger_is(), PURGER_AWAKE);
    rung_free(mem);
    rung_free(more);
    assert_int_equal(rung_purge_thread(0), 0);
}

static void *churn(void *seed) {
    void *mine[200] = {NULL};
    uint64_t s = (uint64_t)(uintptr_t)seed;
    for (int i = 0; i < 20000; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        void **at = &mine[(s >> 20) % 200];
        rung_free(*at);
        *at = rung_malloc((s >> 33) % 500 == 0 ? (s >> 40) % 300000 : (s >> 40) % 3000);
    }
    for (int i = 0; i < 200; i++)
        rung_free(mine[i]);
    return NULL;
}

static void test_beside_threads(void **state) {
    (void)state;
    double_pass_through();
    assume(OPT_PURGE_DELAY, 1);
    assert_int_equal(rung_purge_thread(1), 0);
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&t[i], NULL, churn, (void *)(uintptr_t)(i + 1)), 0);
    (void)churn((void *)(uintptr_t)9);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(rung_purge_thread(0), 0);
    assert_int_equal(rung_heap_check(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_age_alone, with_runs),
        cmocka_unit_test_setup(test_shelves_age, with_runs),
        cmocka_unit_test_setup(test_gives_up, with_runs),
        cmocka_unit_test_setup(test_thread_sleeps_and_wakes, with_runs),
        cmocka_unit_test_setup(test_starts_by_itself, with_runs),
        cmocka_unit_test_setup(test_beside_threads, with_runs),
    };
    return UNIT_RUN(tests);
}
