/* Row N1: arenas on demand. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "arena/arenas.h"
#include "arena/waiting.h"
#include "base/counter.h"
#include "unit.h"

static void on_demand(unsigned usable_cpus) {
    struct os_facts facts = os_facts;
    facts.cpus = 64; /* a big host */
    facts.usable_cpus = usable_cpus;
    double_set_facts(&facts);
    assume(OPT_ARENA_ON_DEMAND, 1);
}

static size_t arenas(void) {
    return counter_get(COUNT_ARENAS);
}

static unsigned bound_to(struct arena *a) {
    return atomic_load(&a->threads);
}

/* ---- when is it enough? ---- */

enum { STEP = 1000 }; /* us from wait to wait */

/* A thread that waits n times, `step` us apart, for an arena that `threads` share, while others acquire its lock
   `between` times for each wait.  Of 32 looks at the other arena, `taken` find it taken. */
struct course {
    unsigned n, step, between, threads, threads_at_end, taken;
};

static struct arena contested;

static struct waiting wait_for_it(struct course c) {
    static struct arena other;
    struct waiting w = {.watched = &other};
    contested = (struct arena){.lock = LOCK_INIT(RANK_ARENA)};
    atomic_store(&contested.threads, c.threads);
    uint64_t now = 1000000;
    for (unsigned i = 1; i <= c.n; i++) {
        contested.lock.acquired += 1 + c.between;
        contested.lock.waited++;
        if (i == c.n)
            atomic_store(&contested.threads, c.threads_at_end);
        waiting_note(&w, &contested, i % 32 < c.taken, waiting_wants_clock(&w) ? now : 0);
        now += c.step;
        if (i < c.n)
            assert_false(w.enough);
    }
    return w;
}

static bool is_enough(struct course c) {
    return wait_for_it(c).enough;
}

static void test_enough(void **state) {
    (void)state;
    assert_true(is_enough((struct course){.n = 32, .step = STEP, .between = 1, .threads = 2, .threads_at_end = 2}));
    assert_true(is_enough((struct course){.n = 32, .step = STEP, .between = 10, .threads = 2, .threads_at_end = 9}));
    assert_false(is_enough((struct course){.n = 31, .step = STEP, .between = 1, .threads = 2, .threads_at_end = 2}));
}

/* Two threads that wake up at once do not need two arenas. */
static void test_a_burst_is_not_enough(void **state) {
    (void)state;
    assert_false(is_enough((struct course){.n = 9 * 32, .step = 30, .between = 1, .threads = 2, .threads_at_end = 2}));
    /* It goes on: at the first look at the clock after 10 ms. */
    assert_true(is_enough((struct course){.n = 11 * 32, .step = 30, .between = 1, .threads = 2, .threads_at_end = 2}));
}

static void test_rare_waits_are_not_enough(void **state) {
    (void)state;
    struct course slow = {.n = 32, .step = 4000, .between = 1, .threads = 2, .threads_at_end = 2};
    assert_false(is_enough(slow));
    struct course seldom = {.n = 32, .step = STEP, .between = 40, .threads = 2, .threads_at_end = 2};
    assert_false(is_enough(seldom));
    /* A stretch is forgotten when it was not enough. */
    assert_int_equal(wait_for_it(seldom).waits, 0);
}

/* Alone in its arena, a thread waits for those who free what it allocated: they would follow it. */
static void test_alone_is_not_enough(void **state) {
    (void)state;
    assert_false(is_enough((struct course){.n = 32, .step = STEP, .between = 1, .threads = 1, .threads_at_end = 1}));
}

static void test_somebody_left(void **state) {
    (void)state;
    assert_false(is_enough((struct course){.n = 32, .step = STEP, .between = 1, .threads = 4, .threads_at_end = 3}));
}

static void test_quiet(void **state) {
    (void)state;
    struct course c = {.n = 32, .step = STEP, .between = 1, .threads = 2, .threads_at_end = 2};
    assert_true(wait_for_it(c).quiet);
    c.taken = 1;
    assert_true(wait_for_it(c).quiet);
    c.taken = 2;
    assert_false(wait_for_it(c).quiet);
}

/* ---- threads that do what they are told ---- */

enum { MOST = 40 };

static pthread_barrier_t told, done;
static void (*_Atomic order)(size_t thread);
static pthread_t threads[MOST];
static struct arena *arena_of[MOST];
static size_t alive;

static void take_some(size_t thread) {
    void *p = rung_malloc(5000);
    memset(p, (int)thread, 5000);
    rung_free(p);
}

static void *serve(void *number) {
    size_t i = (size_t)number;
    for (;;) {
        pthread_barrier_wait(&told);
        void (*what)(size_t) = atomic_load(&order);
        if (what != NULL)
            what(i);
        arena_of[i] = self.arena;
        pthread_barrier_wait(&done);
        if (what == NULL)
            return NULL;
    }
}

static void start_threads(size_t n) {
    for (alive = 0; alive < n; alive++)
        arena_of[alive] = NULL;
    pthread_barrier_init(&told, NULL, (unsigned)n + 1);
    pthread_barrier_init(&done, NULL, (unsigned)n + 1);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, serve, (void *)i), 0);
}

static void tell_all(void (*what)(size_t thread)) {
    atomic_store(&order, what);
    pthread_barrier_wait(&told);
    pthread_barrier_wait(&done);
}

static void end_threads(void) {
    tell_all(NULL);
    for (size_t i = 0; i < alive; i++)
        pthread_join(threads[i], NULL);
}

static unsigned bound_to_all(void) {
    unsigned sum = 0;
    struct arena *a = &main_arena;
    do {
        sum += bound_to(a);
        a = arena_next(a);
    } while (a != &main_arena);
    return sum;
}

/* ---- nobody waits ---- */

static _Atomic size_t turn;

static void take_some_in_turn(size_t thread) {
    while (atomic_load(&turn) != thread)
        os_yield();
    for (int i = 0; i < 200; i++)
        take_some(thread);
    atomic_store(&turn, thread + 1);
}

static void test_no_contention_no_arenas(void **state) {
    (void)state;
    on_demand(64);
    start_threads(MOST);
    for (int round = 0; round < 3; round++) {
        atomic_store(&turn, 0);
        tell_all(take_some_in_turn);
    }
    assert_int_equal(arenas(), 1);
    assert_int_equal(bound_to(&main_arena), MOST + 1);
    end_threads();
    assert_int_equal(bound_to(&main_arena), 1);
    assert_sound();
}

/* ---- a thread that has waited enough ---- */

/* In a thread: what it concluded from a stretch of waits, and what comes of it when it next finds its arena's
   lock taken. */
struct mover {
    struct waiting concluded;
    struct arena *before, *after; /* its arena */
    struct arena *of_block;       /* what it allocated comes from there */
    struct waiting then;
    void (*meanwhile)(void);                    /* before that */
    void (*while_alive)(const struct mover *m); /* after that */
};

static _Atomic bool served;
static pthread_barrier_t mover_is_there, mover_goes_on;

static void *move_thread(void *argument) {
    struct mover *m = argument;
    take_some(0);
    m->before = self.arena;
    self.record->waiting = m->concluded;
    pthread_barrier_wait(&mover_is_there);
    pthread_barrier_wait(&mover_goes_on);
    void *p = rung_malloc(7000);
    m->of_block = arena_of_chunk(chunk_of_mem(p));
    rung_free(p);
    m->after = self.arena;
    m->then = self.record->waiting;
    atomic_store(&served, true);
    pthread_barrier_wait(&mover_is_there);
    pthread_barrier_wait(&mover_goes_on);
    return NULL; /* and so leaves its arena */
}

static void run_mover(struct mover *m) {
    pthread_t t;
    atomic_store(&served, false);
    pthread_barrier_init(&mover_goes_on, NULL, 2);
    pthread_barrier_init(&mover_is_there, NULL, 2);
    assert_int_equal(pthread_create(&t, NULL, move_thread, m), 0);
    pthread_barrier_wait(&mover_is_there);
    if (m->meanwhile != NULL)
        m->meanwhile();
    struct lock *l = &m->before->lock;
    assert_true(lock_take(l));
    pthread_barrier_wait(&mover_goes_on);
    /* Until it has been served elsewhere, or sleeps on the lock. */
    while (!atomic_load(&served) && (atomic_load(&l->word) & LOCK_WAITERS) == 0)
        os_yield();
    lock_release(l);
    pthread_barrier_wait(&mover_is_there);
    if (m->while_alive != NULL)
        m->while_alive(m);
    pthread_barrier_wait(&mover_goes_on);
    pthread_join(t, NULL);
    assert_sound();
}

static const struct waiting enough_of_it = {.enough = true};

static void one_each(const struct mover *m) {
    assert_int_equal(bound_to(m->before), 1);
    assert_int_equal(bound_to(m->after), 1);
    assert_false(m->after->parked);
}

static void test_moves_to_a_new_arena(void **state) {
    (void)state;
    on_demand(2);
    struct mover m = {.concluded = enough_of_it, .while_alive = one_each};
    run_mover(&m);
    assert_ptr_equal(m.before, &main_arena);
    assert_ptr_equal(m.after, arena_next(&main_arena));
    assert_ptr_not_equal(m.after, &main_arena);
    assert_ptr_equal(m.of_block, m.after);
    assert_int_equal(arenas(), 2);
    assert_int_equal(counter_get(COUNT_ARENA_MOVES), 1);
    assert_int_equal(m.then.waits, 0); /* it did not have to wait */
    assert_int_equal(bound_to_all(), 1);
    assert_true(m.after->parked); /* row C4: when it was gone */
}

static void test_stays_without_having_waited(void **state) {
    (void)state;
    on_demand(2);
    struct mover m = {.while_alive = NULL};
    run_mover(&m);
    assert_ptr_equal(m.after, &main_arena);
    assert_int_equal(m.then.waits, 1);
    assert_int_equal(arenas(), 1);
}

/* FIELD 19: a quota of one CPU on a big host. */
static void test_one_cpu_one_arena(void **state) {
    (void)state;
    on_demand(1);
    struct mover m = {.concluded = enough_of_it};
    run_mover(&m);
    assert_ptr_equal(m.after, &main_arena);
    assert_ptr_equal(m.of_block, &main_arena);
    assert_int_equal(arenas(), 1);
    assert_int_equal(counter_get(COUNT_ARENA_MOVES), 0);
    assert_false(m.then.enough); /* it begins anew */
}

static void test_arena_max_is_the_cap(void **state) {
    (void)state;
    on_demand(64);
    assume(OPT_ARENA_MAX, 1);
    struct mover m = {.concluded = enough_of_it};
    run_mover(&m);
    assert_int_equal(arenas(), 1);
    assume(OPT_ARENA_MAX, 2);
    run_mover(&m);
    assert_int_equal(arenas(), 2);
}

/* Nothing of this in the profile glibc, where a thread stays with its arena. */
static void test_off(void **state) {
    (void)state;
    on_demand(64);
    assume(OPT_ARENA_ON_DEMAND, 0);
    struct mover m = {.concluded = enough_of_it};
    run_mover(&m);
    assert_ptr_not_equal(m.before, &main_arena); /* its own */
    assert_ptr_equal(m.after, m.before);
    assert_true(m.then.enough); /* nobody asked */
    assert_int_equal(counter_get(COUNT_ARENA_MOVES), 0);
}

/* ---- several arenas ---- */

static struct arena *second, *third;

/* Three arenas, with a thread each that does nothing. */
static void occupy_three(void) {
    assume(OPT_ARENA_ON_DEMAND, 0);
    start_threads(2);
    tell_all(take_some);
    assume(OPT_ARENA_ON_DEMAND, 1);
    second = arena_next(&main_arena);
    third = arena_next(second);
    assert_int_equal(arenas(), 3);
    assert_ptr_equal(arena_next(third), &main_arena);
}

static struct mover mover_after(struct waiting concluded) {
    struct mover m = {.concluded = concluded};
    m.concluded.enough = true;
    occupy_three();
    run_mover(&m);
    assert_ptr_equal(m.before, &main_arena);
    return m;
}

static void test_moves_to_the_quiet_one(void **state) {
    (void)state;
    on_demand(64);
    occupy_three();
    struct mover m = {.concluded = {.enough = true, .quiet = true, .watched = third}};
    run_mover(&m);
    assert_ptr_equal(m.after, third);
    assert_int_equal(arenas(), 3);
    assert_int_equal(bound_to(third), 1); /* the mover is gone */
    end_threads();
    assert_int_equal(bound_to_all(), 1);
}

/* A new one is made only when each of the others was found busy. */
static void test_watches_all_before_it_makes_one(void **state) {
    (void)state;
    on_demand(64);
    struct mover m = mover_after((struct waiting){.watched = NULL});
    assert_ptr_equal(m.after, &main_arena);
    assert_ptr_equal(m.then.watched, second);
    m.concluded.watched = second;
    run_mover(&m);
    assert_ptr_equal(m.after, &main_arena);
    assert_ptr_equal(m.then.watched, third);
    assert_int_equal(arenas(), 3);
    m.concluded.watched = third;
    run_mover(&m);
    assert_int_equal(arenas(), 4);
    assert_ptr_equal(m.after, arena_next(third));
    end_threads();
}

static void test_at_the_cap_it_watches_on(void **state) {
    (void)state;
    on_demand(64);
    assume(OPT_ARENA_MAX, 3);
    struct mover m = mover_after((struct waiting){.watched = NULL});
    m.concluded.watched = third;
    run_mover(&m);
    assert_ptr_equal(m.after, &main_arena);
    assert_ptr_equal(m.then.watched, second);
    assert_int_equal(arenas(), 3);
    end_threads();
}

/* Two for each CPU that may be used. */
static void test_cap_without_arena_max(void **state) {
    (void)state;
    on_demand(2);
    assume(OPT_ARENA_ON_DEMAND, 0);
    start_threads(3);
    tell_all(take_some);
    assume(OPT_ARENA_ON_DEMAND, 1);
    assert_int_equal(arenas(), 4);
    struct arena *last = &main_arena;
    while (arena_next(last) != &main_arena)
        last = arena_next(last);
    struct mover m = {.concluded = {.enough = true, .watched = last}};
    run_mover(&m);
    assert_int_equal(arenas(), 4);
    on_demand(3);
    run_mover(&m);
    assert_int_equal(arenas(), 5);
    end_threads();
}

static void test_no_memory_for_a_new_one(void **state) {
    (void)state;
    on_demand(64);
    double_fail_verb(VERB_RESERVE);
    struct mover m = {.concluded = enough_of_it};
    run_mover(&m);
    assert_ptr_equal(m.after, &main_arena);
    assert_int_equal(arenas(), 1);
    assert_int_equal(bound_to(&main_arena), 1);
}

/* Memory that is there already is used first. */
static void test_parked_ones_first(void **state) {
    (void)state;
    on_demand(64);
    occupy_three();
    struct mover m = {.concluded = {.enough = true, .watched = third}, .meanwhile = end_threads};
    run_mover(&m);
    assert_ptr_equal(m.before, &main_arena);
    assert_true(m.after == second || m.after == third);
    assert_int_equal(arenas(), 3);
    assert_true(second->parked && third->parked);
}

static void note_arena(void *where) {
    take_some(0);
    *(struct arena **)where = self.arena;
}

static void test_new_threads_inherit(void **state) {
    (void)state;
    on_demand(64);
    occupy_three();
    end_threads();
    struct arena *heir[2];
    in_thread(note_arena, &heir[0]);
    in_thread(note_arena, &heir[1]);
    assert_ptr_not_equal(heir[0], &main_arena);
    assert_ptr_equal(heir[0], heir[1]);
    assert_int_equal(arenas(), 3);
}

/* ... and where nothing is parked they go where the fewest are. */
static void bind_in_turn(size_t thread) {
    while (atomic_load(&turn) != thread)
        os_yield();
    if (thread == 2) /* the first two have made an arena each */
        assume(OPT_ARENA_ON_DEMAND, 1);
    take_some(thread);
    atomic_store(&turn, thread + 1);
}

static void test_new_threads_spread_over_what_is_there(void **state) {
    (void)state;
    on_demand(64);
    assume(OPT_ARENA_ON_DEMAND, 0);
    start_threads(8);
    atomic_store(&turn, 0);
    tell_all(bind_in_turn);
    assert_int_equal(arenas(), 3);
    struct arena *a = &main_arena;
    do {
        assert_int_equal(bound_to(a), 3);
        a = arena_next(a);
    } while (a != &main_arena);
    end_threads();
}

/* In the child of a fork that caught the only arena in mid-operation. */
static void test_none_left_by_a_fork(void **state) {
    (void)state;
    on_demand(1);
    main_arena.abandoned = true;
    struct arena *first, *next;
    in_thread(note_arena, &first);
    in_thread(note_arena, &next);
    assert_ptr_not_equal(first, &main_arena);
    assert_ptr_equal(next, first);
    assert_int_equal(arenas(), 2);
}

/* ---- threads that do wait ---- */

static _Atomic bool enough_work;

static void *work(void *unused) {
    (void)unused;
    while (!atomic_load(&enough_work))
        take_some(1);
    return NULL;
}

/* Holds the main arena's lock until somebody sleeps on it or none of its threads comes any more. */
static void be_in_the_way(void) {
    struct lock *l = &main_arena.lock;
    while (!lock_take(l))
        os_yield();
    for (int i = 0; i < 1000 && (atomic_load(&l->word) & LOCK_WAITERS) == 0; i++)
        os_yield();
    lock_release(l);
}

/* Returns what the main arena's threads have waited in all. */
static uint64_t contend(size_t until_arenas, uint64_t until_waits) {
    enum { WORKERS = 3 };
    pthread_t t[WORKERS];
    uint64_t waits = 0;
    assume(OPT_TCACHE_COUNT, 0);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, work, NULL), 0);
    while (arenas() < until_arenas || waits < until_waits) {
        be_in_the_way();
        assert_true(lock_take(&main_arena.lock));
        waits = main_arena.lock.waited;
        lock_release(&main_arena.lock);
    }
    atomic_store(&enough_work, true);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(t[i], NULL);
    return waits;
}

static void test_contention_makes_arenas(void **state) {
    (void)state;
    on_demand(64);
    assume(OPT_ARENA_MAX, 2);
    contend(2, 2000);
    assert_int_equal(arenas(), 2);
    assert_true(counter_get(COUNT_ARENA_MOVES) > 0);
    assert_int_equal(bound_to_all(), 1);
    assert_sound();
}

static void test_contention_on_one_cpu(void **state) {
    (void)state;
    on_demand(1);
    contend(1, 5000);
    assert_int_equal(arenas(), 1);
    assert_int_equal(counter_get(COUNT_ARENA_MOVES), 0);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_enough),
        cmocka_unit_test(test_a_burst_is_not_enough),
        cmocka_unit_test(test_rare_waits_are_not_enough),
        cmocka_unit_test(test_alone_is_not_enough),
        cmocka_unit_test(test_somebody_left),
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_no_contention_no_arenas),
        cmocka_unit_test(test_moves_to_a_new_arena),
        cmocka_unit_test(test_stays_without_having_waited),
        cmocka_unit_test(test_one_cpu_one_arena),
        cmocka_unit_test(test_arena_max_is_the_cap),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_moves_to_the_quiet_one),
        cmocka_unit_test(test_watches_all_before_it_makes_one),
        cmocka_unit_test(test_at_the_cap_it_watches_on),
        cmocka_unit_test(test_cap_without_arena_max),
        cmocka_unit_test(test_no_memory_for_a_new_one),
        cmocka_unit_test(test_parked_ones_first),
        cmocka_unit_test(test_new_threads_inherit),
        cmocka_unit_test(test_new_threads_spread_over_what_is_there),
        cmocka_unit_test(test_none_left_by_a_fork),
        cmocka_unit_test(test_contention_makes_arenas),
        cmocka_unit_test(test_contention_on_one_cpu),
    };
    return UNIT_RUN(tests);
}
