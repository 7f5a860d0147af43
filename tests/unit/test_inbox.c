/* Blocks left with an arena whose lock is not to be had. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "arena/arenas.h"
#include "base/counter.h"
#include "unit.h"

static size_t in_use(void) {
    return rung_mallinfo2().uordblks;
}

/* As in a signal handler that interrupted the arena's region. */
static void test_free_while_the_lock_is_held(void **state) {
    (void)state;
    without_cache();
    void *p = rung_malloc(1000), *q = rung_malloc(1000);
    size_t before = in_use();
    assert_true(arena_enter(&main_arena));
    rung_free(p);
    rung_free(q);
    void *r = rung_malloc(100); /* served around: a mapping */
    assert_true(is_mapped(chunk_of_mem(r)));
    arena_leave(&main_arena);
    assert_non_null(atomic_load(&main_arena.inbox));
    assert_int_equal(counter_get(COUNT_SERVED_AROUND), 3);
    /* Whoever enters next empties it. */
    void *s = rung_malloc(16);
    assert_null(atomic_load(&main_arena.inbox));
    rung_free(s);
    assert_int_equal(in_use(), before - 2 * 1008);
    rung_free(r);
    assert_sound();
}

static void test_order_and_chain(void **state) {
    (void)state;
    without_cache();
    void *p[50];
    take(p, 50, 300);
    for (size_t i = 0; i < 50; i++)
        arena_post(&main_arena, chunk_of_mem(p[i]));
    assert_ptr_equal(atomic_load(&main_arena.inbox), chunk_of_mem(p[49]));
    assert_true(arena_enter(&main_arena));
    assert_null(atomic_load(&main_arena.inbox));
    arena_leave(&main_arena);
    assert_int_equal(in_use(), 0);
    assert_sound();
}

enum { THREADS = 4, EACH = 3000 };
static void *blocks[THREADS][EACH];

static void *post_all(void *mine) {
    for (size_t i = 0; i < EACH; i++)
        arena_post(&main_arena, chunk_of_mem(((void **)mine)[i]));
    return NULL;
}

/* Many post while another empties: nothing is lost, nothing freed twice. */
static void test_many_posters(void **state) {
    (void)state;
    without_cache();
    assume(OPT_ARENA_MAX, 1);
    for (size_t i = 0; i < THREADS; i++)
        take(blocks[i], EACH, 40);
    pthread_t t[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, post_all, blocks[i]), 0);
    for (int i = 0; i < 2000; i++) {
        void *p = rung_malloc(40);
        assert_non_null(p);
        rung_free(p);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(in_use(), 0);
    assert_sound();
}

/* Row C4 and the fork rule together: frees during a freeze. */
static void test_free_during_a_freeze(void **state) {
    (void)state;
    without_cache();
    void *p = rung_malloc(1000);
    lock_fork_freeze(&main_arena.lock, os_clock_us() + 1000000);
    rung_free(p);
    void *q = rung_malloc(5000);
    assert_non_null(q);
    assert_true(is_mapped(chunk_of_mem(q)));
    q = rung_realloc(q, 10000);
    memset(q, 1, 10000);
    void *aligned = rung_memalign(512, 100);
    assert_int_equal((uintptr_t)aligned % 512, 0);
    lock_fork_thaw(&main_arena.lock);
    rung_free(q);
    rung_free(aligned);
    assert_int_equal(in_use(), 0);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_while_the_lock_is_held),
        cmocka_unit_test(test_order_and_chain),
        cmocka_unit_test(test_many_posters),
        cmocka_unit_test(test_free_during_a_freeze),
    };
    return UNIT_RUN(tests);
}
