/* Locks that nobody waits for in vain. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/counter.h"
#include "guard/lock.h"
#include "unit.h"

static struct lock lock = LOCK_INIT(RANK_ARENA);
static size_t guarded;

static void test_alone(void **state) {
    (void)state;
    bool counted = !single_threaded(); /* a sanitizer's own thread counts */
    assert_false(lock_is_mine(&lock));
    assert_true(lock_take(&lock));
    assert_true(lock_is_mine(&lock));
    lock_release(&lock);
    assert_false(lock_is_mine(&lock));
    assert_int_equal(lock.acquired, counted); /* alone: no atomic operation, no count */
}

/* What a signal handler meets that interrupted the locked region. */
static void test_the_holder_is_refused(void **state) {
    (void)state;
    assert_true(lock_take(&lock));
    assert_false(lock_take(&lock));
    assert_false(lock_try(&lock));
    assert_int_equal(counter_get(COUNT_SERVED_AROUND), 1);
    lock_release(&lock);
    assert_true(lock_try(&lock));
    lock_release(&lock);
}

/* ---- threads ---- */

enum { THREADS = 4, STEPS = 20000 };

static void *count_up(void *unused) {
    (void)unused;
    for (size_t i = 0; i < STEPS; i++) {
        while (!lock_take(&lock))
            os_yield(); /* a clash of marks; see lock_self() */
        guarded++;
        lock_release(&lock);
    }
    return NULL;
}

static void test_exclusion(void **state) {
    (void)state;
    pthread_t t[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, count_up, NULL), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(guarded, THREADS * STEPS);
    assert_int_equal(lock.acquired, THREADS * STEPS);
    assert_int_equal(atomic_load(&lock.word), 0);
}

static _Atomic int stage;

static void *take_once(void *result) {
    atomic_store(&stage, 1);
    *(bool *)result = lock_take(&lock);
    if (*(bool *)result)
        lock_release(&lock);
    atomic_store(&stage, 2);
    return NULL;
}

static void until(uint32_t bit, bool set) {
    while (((atomic_load(&lock.word) & bit) != 0) != set)
        os_yield();
}

static void test_waiting_and_waking(void **state) {
    (void)state;
    bool got = false;
    pthread_t t;
    bool counted = !single_threaded();
    assert_true(lock_take(&lock));
    assert_int_equal(pthread_create(&t, NULL, take_once, &got), 0);
    until(LOCK_WAITERS, true); /* it sleeps, or is about to */
    assert_int_equal(atomic_load(&stage), 1);
    lock_release(&lock);
    pthread_join(t, NULL);
    assert_true(got);
    assert_int_equal(lock.waited, 1);
    assert_int_equal(lock.acquired, 1 + counted); /* ours was taken alone */
}

/* ---- fork ---- */

static void test_nobody_waits_for_a_frozen_lock(void **state) {
    (void)state;
    bool got = true;
    pthread_t t;
    lock_fork_freeze(&lock, os_clock_us() + 1000000);
    assert_int_equal(pthread_create(&t, NULL, take_once, &got), 0);
    pthread_join(t, NULL);
    assert_false(got);
    assert_false(lock_try(&lock));
    lock_fork_thaw(&lock);
    assert_true(lock_take(&lock));
    lock_release(&lock);
}

/* Who waits already is sent round by the freeze. */
static void test_a_freeze_sends_waiters_round(void **state) {
    (void)state;
    bool got = true;
    pthread_t t;
    assert_true(lock_take(&lock));
    assert_int_equal(pthread_create(&t, NULL, take_once, &got), 0);
    until(LOCK_WAITERS, true);
    lock_fork_freeze(&lock, os_clock_us() + 1000000); /* the holder is this thread itself */
    pthread_join(t, NULL);
    assert_false(got);
    assert_true(lock_is_mine(&lock));
    lock_release(&lock);
    assert_int_equal(atomic_load(&lock.word), LOCK_FORK); /* leaving keeps the freeze */
    lock_fork_thaw(&lock);
}

static void *hold_while_stage_0(void *unused) {
    (void)unused;
    assert_true(lock_take(&lock));
    atomic_store(&stage, 1);
    while (atomic_load(&stage) == 1)
        os_yield();
    lock_release(&lock);
    return NULL;
}

/* A freeze waits for a holder, but not for ever; the child can tell. */
static void test_a_holder_that_stays(void **state) {
    (void)state;
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, hold_while_stage_0, NULL), 0);
    while (atomic_load(&stage) == 0)
        os_yield();
    lock_fork_freeze(&lock, os_clock_us() + 2000);
    struct lock childs = lock;
    assert_false(lock_fork_child(&childs));
    assert_false(lock_take(&childs));
    /* It stays so when the child forks, in the child and in its children. */
    lock_fork_freeze(&childs, os_clock_us() + 1000000);
    struct lock grandchilds = childs;
    lock_fork_thaw(&childs);
    assert_false(lock_take(&childs));
    assert_false(lock_fork_child(&grandchilds));
    assert_false(lock_take(&grandchilds));
    atomic_store(&stage, 2);
    lock_fork_freeze(&lock, os_clock_us() + 10000000); /* now it leaves */
    assert_int_equal(atomic_load(&lock.word), LOCK_FORK);
    childs = lock;
    assert_true(lock_fork_child(&childs));
    assert_int_equal(atomic_load(&childs.word), 0);
    lock_fork_thaw(&lock);
    pthread_join(t, NULL);
}

static void test_the_childs_own_region_stays(void **state) {
    (void)state;
    assert_true(lock_take(&lock));
    lock_fork_freeze(&lock, os_clock_us() + 1000000);
    assert_true(lock_fork_child(&lock));
    assert_true(lock_is_mine(&lock));
    lock_release(&lock);
    assert_int_equal(atomic_load(&lock.word), 0);
}

/* ---- ranks ---- */

static struct lock lower = LOCK_INIT(RANK_ARENAS), higher = LOCK_INIT(RANK_META);

static void take_downwards(void) {
    (void)lock_take(&lock);
    (void)lock_take(&lower);
}

static void release_without_holding(void) {
    lock_release(&lock);
}

static void test_order_of_ranks(void **state) {
    (void)state;
    assert_true(lock_take(&lower));
    assert_true(lock_take(&lock));
    assert_true(lock_take(&higher));
    lock_release(&higher);
    lock_release(&lock);
    lock_release(&lower);
    assert_dies(take_downwards, "rung: ");
    assert_dies(release_without_holding, "rung: ");
    /* Trying, which cannot wait, goes in any order. */
    assert_true(lock_take(&lock));
    assert_true(lock_try(&lower));
    lock_release(&lower);
    lock_release(&lock);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_the_holder_is_refused),
        cmocka_unit_test(test_exclusion),
        cmocka_unit_test(test_waiting_and_waking),
        cmocka_unit_test(test_nobody_waits_for_a_frozen_lock),
        cmocka_unit_test(test_a_freeze_sends_waiters_round),
        cmocka_unit_test(test_a_holder_that_stays),
        cmocka_unit_test(test_the_childs_own_region_stays),
        cmocka_unit_test(test_order_of_ranks),
    };
    return UNIT_RUN(tests);
}
