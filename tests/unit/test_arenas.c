/* Which thread works with which arena (rows C1, C2, C4, C5, B7). */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "arena/arenas.h"
#include "arena/heap.h"
#include "base/counter.h"
#include "unit.h"

/* ---- threads that allocate one after another and stay until told to go ---- */

enum { MOST = 64 };

static pthread_t threads[MOST];
static struct arena *arena_of[MOST];
static size_t alive;
static pthread_barrier_t ready, go;
static size_t each_blocks, each_size;

static void *work_and_wait(void *index) {
    size_t i = (size_t)index;
    for (size_t k = 0; k < each_blocks; k++)
        memset(rung_malloc(each_size), 1, each_size);
    arena_of[i] = self.arena;
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&go);
    return NULL;
}

static void start_threads(size_t n) {
    alive = n;
    pthread_barrier_init(&ready, NULL, 2);
    pthread_barrier_init(&go, NULL, (unsigned)n + 1);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work_and_wait, (void *)i), 0);
        pthread_barrier_wait(&ready);
    }
}

static void end_threads(void) {
    pthread_barrier_wait(&go);
    for (size_t i = 0; i < alive; i++)
        pthread_join(threads[i], NULL);
}

static size_t secondaries(void) {
    return counter_get(COUNT_ARENAS) - 1;
}

/* GROUND: 8 threads x 64 x 4096: eight arenas of 266240 with 912 free. */
static void test_an_arena_each(void **state) {
    (void)state;
    each_blocks = 64;
    each_size = 4096;
    start_threads(8);
    assert_int_equal(secondaries(), 8);
    for (size_t i = 0; i < 8; i++) {
        for (size_t k = 0; k < i; k++)
            assert_ptr_not_equal(arena_of[i], arena_of[k]);
        assert_int_equal(arena_of[i]->system, 266240);
        assert_int_equal(top_size(arena_of[i]), 912);
        assert_int_equal(atomic_load(&arena_of[i]->threads), 1);
    }
    assert_sound();
    end_threads();
    assert_sound();
}

/* Row C2: 40 threads on 2 CPUs: 15 arenas beside the main one. */
static void test_cap_follows_the_cpus(void **state) {
    (void)state;
    each_blocks = 1;
    each_size = 100;
    assert_int_equal(os_facts.cpus, 2);
    start_threads(40);
    assert_int_equal(secondaries(), 15);
    assert_int_equal(counter_get(COUNT_SUBHEAPS), 15);
    unsigned bound = 0;
    struct arena *a = &main_arena;
    do {
        bound += atomic_load(&a->threads);
        assert_in_range(atomic_load(&a->threads), 2, 4); /* 41 threads over 16 arenas, in rotation */
        a = arena_next(a);
    } while (a != &main_arena);
    assert_int_equal(bound, 41);
    assert_sound();
    end_threads();
    assert_sound();
}

static void test_no_cap_below_arena_test(void **state) {
    (void)state;
    struct os_facts facts = os_facts;
    facts.cpus = 1;
    double_set_facts(&facts);
    each_blocks = 1;
    each_size = 100;
    assume(OPT_ARENA_TEST, 12);
    start_threads(30);
    /* The cap of 8 is not looked at until there are more than 12, and then none is added. */
    assert_int_equal(secondaries(), 12);
    end_threads();
}

/* GROUND: with arena_max 2 half of the threads share the one secondary arena: 1056768 bytes. */
static void test_arena_max(void **state) {
    (void)state;
    assume(OPT_ARENA_MAX, 2);
    each_blocks = 64;
    each_size = 4096;
    start_threads(8);
    assert_int_equal(secondaries(), 1);
    struct arena *second = arena_next(&main_arena);
    assert_int_equal(atomic_load(&second->threads), 4);
    assert_int_equal(second->system, 1056768);
    assert_int_equal(atomic_load(&main_arena.threads), 5);
    assert_sound();
    end_threads();
    assert_sound();
}

static void test_arena_max_1(void **state) {
    (void)state;
    assume(OPT_ARENA_MAX, 1);
    each_blocks = 10;
    each_size = 1000;
    start_threads(5);
    assert_int_equal(secondaries(), 0);
    assert_int_equal(atomic_load(&main_arena.threads), 6);
    end_threads();
    assert_int_equal(atomic_load(&main_arena.threads), 1);
    assert_sound();
}

/* Where a block came from, and the arena of the thread that took it. */
struct taken {
    void *block;
    struct arena *arena;
};

static void note_arena(void *where) {
    struct taken *t = where;
    t->block = rung_malloc(1000);
    t->arena = self.arena;
}

/* An arena whose lock is taken is passed over. */
static void test_sharing_prefers_an_idle_arena(void **state) {
    (void)state;
    assume(OPT_ARENA_MAX, 3);
    each_blocks = 1;
    each_size = 100;
    start_threads(2);
    struct arena *busy = arena_next(&main_arena);
    assert_true(lock_try(&busy->lock) && lock_try(&main_arena.lock));
    struct taken third;
    in_thread(note_arena, &third);
    assert_ptr_equal(third.arena, arena_next(busy));
    arena_leave(&main_arena);
    arena_leave(busy);
    end_threads();
}

/* ---- row C4 ---- */

static void test_a_parked_arena_is_inherited(void **state) {
    (void)state;
    struct taken first, second;
    in_thread(note_arena, &first);
    assert_int_equal(atomic_load(&first.arena->threads), 0);
    assert_true(first.arena->parked);
    assert_true(first.arena->system > 0); /* whole */
    rung_free(first.block);
    in_thread(note_arena, &second);
    assert_ptr_equal(second.arena, first.arena);
    assert_int_equal(secondaries(), 1);
    assert_sound();
}

/* The one parked last first: its memory is the warmest. */
static void test_parked_last_inherited_first(void **state) {
    (void)state;
    each_blocks = 1;
    each_size = 100;
    start_threads(3);
    end_threads();
    struct taken heir;
    size_t parked = 0;
    struct arena *a = &main_arena;
    do {
        parked += a->parked;
        a = arena_next(a);
    } while (a != &main_arena);
    assert_int_equal(parked, 3);
    in_thread(note_arena, &heir);
    assert_int_equal(secondaries(), 3);
}

/* GROUND: 10,000 threads, 4 at a time, need few arenas. */
static void test_many_short_threads(void **state) {
    (void)state;
    each_blocks = 3;
    each_size = 100;
    for (int round = 0; round < 100; round++) {
        start_threads(4);
        end_threads();
    }
    assert_in_range(secondaries(), 1, 4);
    assert_int_equal(counter_get(COUNT_TCACHES), 0);
    assert_sound();
}

/* ---- row C5 ---- */

static void test_main_arena_fails(void **state) {
    (void)state;
    double_fail_verb(VERB_BREAK);
    double_fail_verb(VERB_MAP);
    void *p = rung_malloc(100);
    assert_non_null(p);
    assert_true(is_secondary(chunk_of_mem(p)));
    assert_ptr_equal(self.arena, &main_arena); /* the thread stays where it is */
    assert_sound();
    void *q = rung_malloc(100); /* and comes back */
    assert_true(is_secondary(chunk_of_mem(q)));
    assert_int_equal(secondaries(), 1);
    double_heal();
    void *r = rung_malloc(3000);
    assert_false(is_secondary(chunk_of_mem(r)));
    rung_free(p);
    rung_free(q);
    rung_free(r);
    assert_sound();
}

static void take_in_a_thread(void *p) {
    *(void **)p = rung_malloc(100000);
}

static void test_secondary_arena_fails(void **state) {
    (void)state;
    each_blocks = 1;
    each_size = 100000;
    in_thread(take_in_a_thread, &(void *){NULL});
    double_fail_verb(VERB_COMMIT);
    double_fail_verb(VERB_MAP);
    void *p = NULL;
    in_thread(take_in_a_thread, &p);
    assert_non_null(p);
    assert_false(is_secondary(chunk_of_mem(p)));
    assert_sound();
    double_heal();
    rung_free(p);
    assert_sound();
}

/* A new thread without memory for an arena of its own shares one. */
static void test_no_memory_for_an_arena(void **state) {
    (void)state;
    double_fail_verb(VERB_RESERVE);
    void *p = NULL;
    in_thread(take_in_a_thread, &p);
    assert_non_null(p);
    assert_false(is_secondary(chunk_of_mem(p)));
    assert_int_equal(secondaries(), 0);
    assert_sound();
}

/* ... and what an arena would have needed of the library's own memory is returned. */
static void test_failed_arenas_leave_nothing(void **state) {
    (void)state;
    void *p = NULL;
    double_fail_verb(VERB_RESERVE);
    in_thread(take_in_a_thread, &p);
    size_t meta = counter_get(COUNT_META_BYTES);
    for (int i = 0; i < 30; i++)
        in_thread(take_in_a_thread, &p);
    assert_int_equal(counter_get(COUNT_META_BYTES), meta);
    assert_sound();
}

/* A thread may come to share an arena that is parked: it is not parked twice when that thread ends. */
static void test_parked_once(void **state) {
    (void)state;
    each_blocks = 1;
    each_size = 100;
    start_threads(1);
    end_threads();
    struct arena *parked = arena_next(&main_arena);
    assert_true(parked->parked);
    lock_fork_freeze(&arenas_lock, os_clock_us() + 1000000); /* nobody is bound to it alone now */
    start_threads(2);
    lock_fork_thaw(&arenas_lock);
    assert_true(arena_of[0] == parked || arena_of[1] == parked);
    assert_true(parked->parked);
    end_threads();
    assert_true(parked->parked);
    start_threads(2);
    assert_ptr_not_equal(arena_of[0], arena_of[1]);
    assert_int_equal(secondaries(), 2);
    assert_false(parked->parked);
    end_threads();
    assert_sound();
}

/* ---- a block's arena ---- */

static void test_arena_of_a_chunk(void **state) {
    (void)state;
    struct taken theirs;
    void *mine = rung_malloc(100);
    in_thread(note_arena, &theirs);
    assert_ptr_equal(arena_of_chunk(chunk_of_mem(mine)), &main_arena);
    assert_ptr_equal(arena_of_chunk(chunk_of_mem(theirs.block)), theirs.arena);
    _Alignas(16) char fake[64] = {0};
    chunk_set_head((struct chunk *)fake, 64 | PREV_INUSE | SECONDARY);
    assert_null(arena_of_chunk((struct chunk *)fake));
    rung_free(theirs.block);
    assert_sound();
}

/* Row B7: a thread's cache is drained to the arenas its objects came from. */
static void *handed_over[12];

static void cache_foreign_blocks(void *unused) {
    (void)unused;
    void *own[5];
    take(own, 5, 200);
    give(own, 5);
    give(handed_over, 12);
}

static void test_thread_exit_drains(void **state) {
    (void)state;
    without_cache(); /* ours: so that free memory is what the other thread gave back */
    take(handed_over, 12, 100);
    assume(OPT_TCACHE_COUNT, 16);
    size_t in_use = rung_mallinfo2().uordblks;
    in_thread(cache_foreign_blocks, NULL);
    assert_int_equal(counter_get(COUNT_TCACHES), 0);
    assert_int_equal(rung_mallinfo2().uordblks, in_use - 12 * 112 + sizeof(struct heap) + FIRST_HEAP_LEAD);
    /* The secondary arena is whole again. */
    struct arena *second = arena_next(&main_arena);
    assert_int_equal(second->system - top_size(second), sizeof(struct heap) + FIRST_HEAP_LEAD);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_arena_each),
        cmocka_unit_test(test_cap_follows_the_cpus),
        cmocka_unit_test(test_no_cap_below_arena_test),
        cmocka_unit_test(test_arena_max),
        cmocka_unit_test(test_arena_max_1),
        cmocka_unit_test(test_sharing_prefers_an_idle_arena),
        cmocka_unit_test(test_a_parked_arena_is_inherited),
        cmocka_unit_test(test_parked_last_inherited_first),
        cmocka_unit_test(test_many_short_threads),
        cmocka_unit_test(test_main_arena_fails),
        cmocka_unit_test(test_secondary_arena_fails),
        cmocka_unit_test(test_no_memory_for_an_arena),
        cmocka_unit_test(test_failed_arenas_leave_nothing),
        cmocka_unit_test(test_parked_once),
        cmocka_unit_test(test_arena_of_a_chunk),
        cmocka_unit_test(test_thread_exit_drains),
    };
    return UNIT_RUN(tests);
}
