/* The cache in front of runs: how deep its bins are, and that no object is in it twice. */
#include "cache/deep.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "cache/depot.h"
#include "cache/parked.h"
#include "chunk/footprint.h"
#include "chunk/meta.h"
#include "runs/block.h"
#include "runs/run.h"
#include "runs/space.h"
#include "unit.h"

static int with_runs(void **state) {
    (void)state;
    assume(OPT_RUNS, 1);
    assume(OPT_RUN_BLOCK_MAX, 32 * MIB);
    return 0;
}

static size_t size_of_bin(unsigned bin) {
    return bin < RUN_BINS ? run_bin_size(bin) : block_bin_size(bin - DEEP_BLOCKS);
}

static size_t count_in(unsigned bin) {
    const struct deep *d = self.deep;
    return d->depth[bin].slots != NULL ? (size_t)(d->top[bin] - d->depth[bin].slots) : 0;
}

static size_t cap_of(unsigned bin) {
    return self.deep->depth[bin].cap;
}

/* What deep.h draws, and that what lies there is nowhere else. */
static void assert_cache_sound(void) {
    const struct deep *d = self.deep;
    size_t spent[2] = {0};
    for (unsigned bin = 0; bin < DEEP_BINS; bin++) {
        const struct deep_depth *p = &d->depth[bin];
        spent[bin >= DEEP_BLOCKS] += p->cap * (p->cap > 0 ? size_of_bin(bin) : 0);
        if (p->slots == NULL) {
            assert_int_equal(p->cap, 0);
            assert_ptr_equal(d->top[bin], deep_none.top[bin]);
            assert_ptr_equal(d->full[bin], deep_none.full[bin]);
            continue;
        }
        assert_null(p->slots[0]);
        assert_true(p->cap < p->length);
        assert_ptr_equal(d->full[bin], p->slots + p->cap);
        assert_true(d->top[bin] >= p->slots && d->top[bin] <= d->full[bin]);
        for (size_t i = 1; i <= count_in(bin); i++) {
            const char *mem = p->slots[i];
            assert_true(in_run_window(mem));
            if (bin < RUN_BINS) {
                assert_int_equal(run_bin_of(mem), bin);
                assert_true(run_object_plausible(mem) && !run_object_is_free(mem) && !depot_holds(bin, mem));
            } else {
                assert_true(run_bin_of(mem) == SLOT_PAGES && headless_is_free(mem) && block_size(mem) == 0);
            }
            for (size_t k = 1; k < i; k++)
                assert_ptr_not_equal(p->slots[k], mem);
        }
    }
    assert_int_equal(d->spent[0], spent[0]);
    assert_int_equal(d->spent[1], spent[1]);
}

/* Up and down by n objects, so that the bin runs empty and full. */
static void swing(size_t size, size_t n, int times) {
    static void *p[4096];
    assert_true(n <= 4096);
    for (int i = 0; i < times; i++) {
        take(p, n, size);
        give(p, n);
    }
}

/* ---- depth ---- */

static void test_bins_deepen_with_use(void **state) {
    (void)state;
    assume(OPT_TCACHE_BUDGET, 1024 * MIB);
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        size_t size = run_bin_size(bin);
        size_t most = size_min(1023, 128 * KIB / size);
        rung_free(rung_malloc(size));
        size_t first = cap_of(bin);
        assert_in_range(first, 1, most);
        assert_true(first < 16);
        for (int i = 0; i < 9; i++) {
            size_t before = cap_of(bin);
            swing(size, 2 * most + 2, 1);
            assert_true(cap_of(bin) >= before && cap_of(bin) <= most);
        }
        assert_int_equal(cap_of(bin), most);
        assert_true(count_in(bin) <= most);
        assert_cache_sound();
    }
    assert_sound();
}

static void test_one_object_stays_one(void **state) {
    (void)state;
    rung_free(rung_malloc(64));
    size_t first = cap_of(run_bin_of_request(64));
    for (int i = 0; i < 10000; i++)
        rung_free(rung_malloc(64));
    assert_int_equal(cap_of(run_bin_of_request(64)), first);
}

static void test_the_depth_has_an_option(void **state) {
    (void)state;
    assume(OPT_TCACHE_DEPTH_MAX, 20);
    swing(64, 1000, 9);
    assert_int_equal(cap_of(run_bin_of_request(64)), 20);
    assume(OPT_TCACHE_COUNT, 4);
    rung_free(rung_malloc(128));
    assert_in_range(cap_of(run_bin_of_request(128)), 1, 4);
    assert_cache_sound();
}

/* Two dozen sizes in turn: all have some room, the deepest together no more than the budget. */
static void test_the_budget(void **state) {
    (void)state;
    enum { BUDGET = 128 * 1024 };
    assume(OPT_TCACHE_BUDGET, BUDGET);
    size_t first = 0;
    for (unsigned bin = 0; bin < RUN_BINS; bin += 4) {
        rung_free(rung_malloc(run_bin_size(bin)));
        first += cap_of(bin) * run_bin_size(bin);
    }
    assert_int_equal(self.deep->spent[0], first); /* that much each has, whatever the budget */
    for (int i = 0; i < 20; i++)
        for (unsigned bin = 0; bin < RUN_BINS; bin += 4) {
            swing(run_bin_size(bin), 300, 1);
            assert_true(self.deep->spent[0] <= size_max(BUDGET, first));
            assert_true(cap_of(bin) > 0);
        }
    assert_cache_sound();
    assert_sound();
}

/* Up and down by a little more than the bin holds: what speaks for depth. */
static void turn(size_t size, int times) {
    for (int i = 0; i < times; i++)
        swing(size, cap_of(run_bin_of_request(size)) + 2, 1);
}

/* Keeps so much in use that a share of it is more than any budget here. */
static void *in_use[3];
static void use_memory(void) {
    for (size_t i = 0; i < 3; i++)
        in_use[i] = rung_malloc(24 * MIB);
}
static void use_no_memory(void) {
    for (size_t i = 0; i < 3; i++)
        rung_free(in_use[i]);
}

/* Bursts that are much larger than a bin have a part of the budget: depth would not help them. */
static void test_bursts_prove_nothing(void **state) {
    (void)state;
    enum { BUDGET = 1024 * 1024 };
    assume(OPT_TCACHE_BUDGET, BUDGET);
    use_memory();
    for (int i = 0; i < 20; i++)
        for (size_t size = 128; size <= 512; size *= 2)
            swing(size, 4000, 1);
    assert_in_range(self.deep->spent[0], BUDGET / 64, BUDGET / 16);
    assert_cache_sound();
    use_no_memory();
}

/* A few sizes that come and go have all that fits. */
static void test_turns_earn_the_budget(void **state) {
    (void)state;
    enum { BUDGET = 256 * 1024 };
    assume(OPT_TCACHE_BUDGET, BUDGET);
    use_memory();
    for (int i = 0; i < 40; i++)
        for (size_t size = 128; size <= 512; size *= 2)
            turn(size, 4);
    assert_in_range(self.deep->spent[0], BUDGET / 2, BUDGET);
    assert_cache_sound();
    use_no_memory();
}

/* But only while the process has much more than that. */
static void test_earned_is_a_share_of_what_there_is(void **state) {
    (void)state;
    assume(OPT_TCACHE_BUDGET, 64 * MIB);
    for (int i = 0; i < 100; i++)
        for (size_t size = 128; size <= 8192; size *= 2)
            turn(size, 4);
    assert_in_range(self.deep->spent[0], 64 * MIB / 16 / 16, 64 * MIB / 16 + footprint() / 8);
    assert_cache_sound();
}

/* What was deep and is not used any more gives way to what is. */
static void test_unused_bins_become_shallow(void **state) {
    (void)state;
    unsigned old = run_bin_of_request(256);
    swing(256, 1000, 10);
    size_t deep = cap_of(old), full = count_in(old);
    assert_true(deep > 100);
    assert_true(full > 20);
    for (int i = 0; i < 3000; i++) /* each swing goes by the hand some times */
        swing(48, 4000, 1);
    assert_true(cap_of(old) < 16);
    assert_true(count_in(old) <= cap_of(old));
    assert_true(cap_of(run_bin_of_request(48)) > 255);
    assert_cache_sound();
    assert_sound();
}

static void test_blocks_have_a_budget_of_their_own(void **state) {
    (void)state;
    enum { BUDGET = 4 * 1024 * 1024 };
    assume(OPT_TCACHE_BUDGET, BUDGET);
    for (int i = 0; i < 6; i++)
        for (unsigned bin = 0; bin < BLOCK_BINS; bin++)
            swing(block_bin_size(bin), 40, 1);
    assert_in_range(self.deep->spent[1], BUDGET / 16, 2 * BUDGET / 16);
    assert_int_equal(self.deep->spent[0], 0);
    swing(64, 3000, 9);
    assert_int_equal(cap_of(run_bin_of_request(64)), 1023);
    assert_cache_sound();
    assert_sound();
}

/* ---- threads ---- */

enum { THREADS = 24 };

static pthread_barrier_t together;

/* Returns what the thread's cache may hold at most, after much use. */
static void *use_much(void *unused) {
    (void)unused;
    static _Thread_local void *p[4096];
    rung_free(rung_malloc(16));
    pthread_barrier_wait(&together);
    for (int i = 0; i < 40; i++)
        for (size_t size = 64; size <= 1024; size += 96) {
            size_t n = cap_of(run_bin_of_request(size)) + 2;
            take(p, n, size);
            give(p, n);
        }
    size_t spent = self.deep->spent[0];
    pthread_barrier_wait(&together); /* none ends before */
    return (void *)spent;
}

/* What n threads' caches may hold together. */
static size_t spent_by(unsigned n) {
    pthread_t threads[THREADS];
    size_t sum = 0;
    pthread_barrier_init(&together, NULL, n);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_much, NULL), 0);
    for (unsigned i = 0; i < n; i++) {
        void *spent;
        pthread_join(threads[i], &spent);
        sum += (size_t)spent;
    }
    pthread_barrier_destroy(&together);
    return sum;
}

static void assert_nothing_is_out(void) {
    struct runs_totals t;
    parked_empty();
    depot_empty();
    runs_count(&t);
    assert_int_equal(t.out, 0);
    assert_sound();
}

/* Beyond the part that each has, all together have no more than a share of the process's memory; what a thread
   earned is free for others when it ends.  The main thread has no cache. */
static void test_threads_share_what_is_earned(void **state) {
    (void)state;
    enum { BUDGET = 1 << 20, EACH = BUDGET / 16 };
    assume(OPT_TCACHE_BUDGET, BUDGET);
    for (int round = 0; round < 3; round++) {
        size_t two = spent_by(2), many = spent_by(THREADS), most = footprint();
        enum { DEEPER = 128 * 1024 }; /* all may find room for the last step at once */
        assert_true(two <= 2 * EACH + most / 8 + 2 * DEEPER);
        assert_true(many <= THREADS * EACH + most / 8 + THREADS * DEEPER);
        assert_true(many <= THREADS * BUDGET / 2);
        assert_true(many > THREADS * EACH / 2);
        assert_int_equal(counter_get(COUNT_TCACHES), 0);
    }
    assert_nothing_is_out();
}

/* ---- caches of threads that have ended ---- */

static struct deep *had;
static size_t held;

static void *use_a_little(void *unused) {
    (void)unused;
    rung_free(rung_malloc(100));
    had = self.deep;
    held = deep_bytes(had);
    return NULL;
}

static void run_thread(void *(*body)(void *)) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, NULL), 0);
    pthread_join(thread, NULL);
}

static void test_a_thread_finds_the_cache_of_one_that_ended(void **state) {
    (void)state;
    run_thread(use_a_little);
    struct deep *first = had;
    size_t bytes = held;
    assert_true(bytes >= 100);
    run_thread(use_a_little);
    assert_ptr_equal(had, first);
    assert_int_equal(held, bytes); /* the object that the first has left was there again */
    assert_nothing_is_out();
}

static void *use_more_than_stays(void *unused) {
    (void)unused;
    static void *p[4096];
    rung_free(rung_malloc(16));
    for (int i = 0; i < 60; i++)
        for (size_t size = 64; size <= 1024; size += 96) {
            size_t n = cap_of(run_bin_of_request(size)) + 2;
            take(p, n, size);
            give(p, n);
        }
    take(p, 3, 200000);
    give(p, 3);
    had = self.deep;
    held = deep_bytes(had);
    return NULL;
}

/* Of what it had earned nothing stays, and of blocks neither. */
static void test_little_stays_in_the_cache_of_one_that_ended(void **state) {
    (void)state;
    enum { BUDGET = 1 << 20 };
    assume(OPT_TCACHE_BUDGET, BUDGET);
    run_thread(use_a_little); /* has no memory in use: its cache holds what it may */
    parked_empty();
    use_memory();
    run_thread(use_more_than_stays);
    assert_true(held > BUDGET / 8);
    assert_true(deep_bytes(had) <= BUDGET / 16 + 20 * 1024);
    use_no_memory();
    assert_nothing_is_out();
}

/* What nobody came back for between two looks goes home; what a thread had meanwhile stays. */
static void test_parked_caches_age(void **state) {
    (void)state;
    run_thread(use_a_little);
    assert_true(parked_age());
    assert_true(deep_bytes(had) > 0);
    run_thread(use_a_little);
    assert_true(parked_age());
    assert_true(deep_bytes(had) > 0);
    assert_false(parked_age());
    assert_int_equal(deep_bytes(had), 0);
    assert_nothing_is_out();
}

/* Where there is no place any more a cache is given back; those that stay have little memory. */
static void test_few_are_parked(void **state) {
    (void)state;
    enum { ROUNDS = 6, SIZES = 12, SLOTS_OF_SHALLOW = 64 };
    size_t meta = counter_get(COUNT_META_BYTES);
    for (int i = 0; i < ROUNDS; i++)
        (void)spent_by(THREADS);
    unsigned parked = 0;
    for (int i = 0; i < PARKED_MOST; i++)
        parked += parked_caches[i] != NULL;
    assert_int_equal(parked, PARKED_MOST);
    size_t each = align_up(sizeof(struct deep), 64) + SIZES * SLOTS_OF_SHALLOW * sizeof(void *);
    assert_in_range(counter_get(COUNT_META_BYTES), meta + PARKED_MOST * sizeof(struct deep), meta + PARKED_MOST * each);
    assert_nothing_is_out();
}

/* ---- no memory for it ---- */

static void use_up_meta(void) {
    double_fail_verb(VERB_MAP);
    for (size_t size = 4096; size >= 64; size -= 64)
        while (meta_alloc(size) != NULL) {
        }
}

/* Without slots a bin stays shut, and the objects come and go all the same. */
static void test_no_memory_for_slots(void **state) {
    (void)state;
    enum { N = 500 };
    static void *p[N];
    rung_free(rung_malloc(16));
    use_up_meta();
    for (size_t size = 100; size < 40000; size = size * 3 / 2) {
        take(p, N, size);
        for (size_t i = 0; i < N; i++)
            memset(p[i], (int)i, size);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(((unsigned char *)p[i])[size - 1], (unsigned char)i);
        give(p, N);
        assert_int_equal(cap_of(size <= RUN_MAX ? run_bin_of_request(size) : DEEP_BLOCKS + block_bin_of_request(size)), 0);
    }
    double_heal();
    assert_int_equal(rung_heap_check(), 0);
    swing(200, 500, 9);
    assert_true(cap_of(run_bin_of_request(200)) > 100);
    assert_cache_sound();
}

/* A bin that cannot become deeper stays as it is, with all that lies in it. */
static void test_no_memory_for_more_slots(void **state) {
    (void)state;
    enum { N = 600 };
    static void *p[N];
    unsigned bin = run_bin_of_request(64);
    swing(64, 20, 2);
    size_t cap = cap_of(bin);
    use_up_meta();
    for (int i = 0; i < 10; i++) {
        take(p, N, 64);
        give(p, N);
        assert_cache_sound();
    }
    assert_in_range(cap_of(bin), cap, 1022);
    double_heal();
    assert_int_equal(rung_heap_check(), 0);
}

static void test_no_memory_for_a_cache(void **state) {
    (void)state;
    use_up_meta();
    void *p = rung_malloc(100);
    assert_non_null(p);
    assert_ptr_equal(self.deep, &deep_none);
    rung_free(p);
    void *q = rung_malloc(100);
    assert_ptr_equal(q, p);
    rung_free(q);
    p = rung_malloc(100000);
    rung_free(p);
    double_heal();
    for (unsigned bin = 0; bin < DEEP_BINS; bin++)
        assert_true(deep_none.top[bin] == deep_none.full[bin] && *deep_none.top[bin] == NULL);
    assert_sound();
}

/* ---- a second free ---- */

static const char double_free[] = "free(): double free detected in tcache 2\n";

static void *object;

/* A thread that lives on, with what it has freed in its cache. */
static void *free_and_stay(void *where) {
    rung_free(*(void **)where);
    pthread_barrier_wait(&together);
    for (;;)
        pthread_barrier_wait(&together);
    return NULL;
}

static void let_another_free_it(void) {
    pthread_t thread;
    pthread_barrier_init(&together, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, free_and_stay, &object), 0);
    pthread_barrier_wait(&together);
}

static void free_what_lies_in_anothers_cache(void) {
    let_another_free_it();
    rung_free(object);
}
static void free_what_lies_in_anothers_cache_without_one(void) {
    deep_stop(); /* as a thread does that ends */
    let_another_free_it();
    rung_free(object);
}
static void *free_and_end(void *where) {
    rung_free(*(void **)where);
    return NULL;
}
static void free_what_one_that_ended_left(void) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, free_and_end, &object), 0);
    pthread_join(thread, NULL);
    rung_free(object);
}
static void free_what_lies_in_the_depot(void) {
    counter_add(COUNT_TCACHES, 1);
    void *some[4];
    unsigned bin = run_bin_of(object);
    (void)depot_take(bin, some, 4); /* in vain, so that some may lie there */
    ((struct cached *)object)->key = cached_key;
    depot_leave(bin, &object, 1);
    if (!depot_holds(bin, object))
        return;
    rung_free(object);
}
static void free_what_lies_in_the_run(void) {
    rung_free(object);
    deep_empty(self.deep);
    depot_empty();
    if (deep_bytes(self.deep) + depot_bytes() > 0)
        return;
    rung_free(object);
}
static void free_twice(void) {
    rung_free(object);
    rung_free(object);
}
static void free_again_with_a_full_bin(void) {
    static void *p[3000];
    take(p, 3000, rung_malloc_usable_size(object));
    rung_free(object);
    give(p, 3000);
    rung_free(object);
    /* If its page was given back meanwhile, the key went with it: then it is seen when it goes home. */
    deep_empty(self.deep);
    depot_empty();
}

static void test_a_second_free_is_seen(void **state) {
    (void)state;
    for (size_t size = 16; size <= RUN_MAX; size *= 2) {
        void *neighbours[8];
        take(neighbours, 8, size);
        object = rung_malloc(size);
        assert_dies(free_twice, double_free);
        assert_dies(free_again_with_a_full_bin, double_free);
        assert_dies(free_what_lies_in_anothers_cache, double_free);
        assert_dies(free_what_lies_in_anothers_cache_without_one, double_free);
        assert_dies(free_what_one_that_ended_left, double_free);
        assert_dies(free_what_lies_in_the_depot, double_free);
        assert_dies(free_what_lies_in_the_run, double_free);
        rung_free(object);
        give(neighbours, 8);
    }
    assert_sound();
}

/* ---- the key in innocent memory ---- */

static void free_with_the_key(void *mem) {
    ((struct cached *)mem)->key = cached_key;
    rung_free(mem);
}

/* The key is in what the user wrote. */
static void test_the_key_by_chance(void **state) {
    (void)state;
    enum { N = 600 };
    static void *p[N];
    for (size_t size = 16; size <= RUN_MAX; size = size * 3 + 16) {
        take(p, N, size);
        for (size_t i = 0; i < N; i++)
            free_with_the_key(p[i]);
        assert_cache_sound();
        take(p, N, size); /* and is there no more, when it is handed out again */
        for (size_t i = 0; i < N; i++)
            assert_true(((struct cached *)p[i])->key != cached_key);
        for (size_t i = 0; i < N; i += 2)
            in_thread(free_with_the_key, p[i]);
        for (size_t i = 1; i < N; i += 2)
            free_with_the_key(p[i]);
        assert_cache_sound();
    }
    depot_empty();
    assert_sound();
}

static void free_with_the_key_without_a_cache(void) {
    deep_stop();
    for (int i = 0; i < 100; i++)
        free_with_the_key(rung_malloc(64));
    fputs("unharmed\n", stderr);
    abort();
}

static void test_the_key_by_chance_without_a_cache(void **state) {
    (void)state;
    rung_free(rung_malloc(64));
    assert_dies(free_with_the_key_without_a_cache, "unharmed\n");
}

/* Memory that lay in caches and was never written to since. */
static void test_the_key_from_an_earlier_life(void **state) {
    (void)state;
    enum { N = 3000 };
    static void *p[N];
    for (int round = 0; round < 4; round++)
        for (size_t size = 32; size <= 4096; size *= 2) {
            take(p, N, size);
            give(p, N);
            deep_empty(self.deep);
            depot_empty();
        }
    void *aligned = rung_memalign(64, 64);
    rung_free(aligned);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bins_deepen_with_use, with_runs),
        cmocka_unit_test_setup(test_one_object_stays_one, with_runs),
        cmocka_unit_test_setup(test_the_depth_has_an_option, with_runs),
        cmocka_unit_test_setup(test_the_budget, with_runs),
        cmocka_unit_test_setup(test_bursts_prove_nothing, with_runs),
        cmocka_unit_test_setup(test_turns_earn_the_budget, with_runs),
        cmocka_unit_test_setup(test_earned_is_a_share_of_what_there_is, with_runs),
        cmocka_unit_test_setup(test_unused_bins_become_shallow, with_runs),
        cmocka_unit_test_setup(test_blocks_have_a_budget_of_their_own, with_runs),
        cmocka_unit_test_setup(test_threads_share_what_is_earned, with_runs),
        cmocka_unit_test_setup(test_a_thread_finds_the_cache_of_one_that_ended, with_runs),
        cmocka_unit_test_setup(test_little_stays_in_the_cache_of_one_that_ended, with_runs),
        cmocka_unit_test_setup(test_parked_caches_age, with_runs),
        cmocka_unit_test_setup(test_few_are_parked, with_runs),
        cmocka_unit_test_setup(test_no_memory_for_slots, with_runs),
        cmocka_unit_test_setup(test_no_memory_for_more_slots, with_runs),
        cmocka_unit_test_setup(test_no_memory_for_a_cache, with_runs),
        cmocka_unit_test_setup(test_a_second_free_is_seen, with_runs),
        cmocka_unit_test_setup(test_the_key_by_chance, with_runs),
        cmocka_unit_test_setup(test_the_key_by_chance_without_a_cache, with_runs),
        cmocka_unit_test_setup(test_the_key_from_an_earlier_life, with_runs),
    };
    return UNIT_RUN(tests);
}
