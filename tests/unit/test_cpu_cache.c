/* The cache in front of runs: how deep its bins are, and that no object is in it twice.  The double of the system
   restarts nobody, so each thread has a seat here. */
#include "cache/cpu_cache.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "cache/depot.h"
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

static const struct cpu_cache *mine(void) {
    return cache_number() < 0 ? &no_cache : cache_numbered(cache_number());
}

static size_t count_in(unsigned bin) {
    const struct cpu_cache *c = mine();
    return cache_count(c, bin);
}

static size_t cap_of(unsigned bin) {
    return mine()->bin[bin].cap;
}

/* What cpu_cache.h draws, and that what lies there is nowhere else. */
static void assert_cache_sound(void) {
    const struct cpu_cache *c = mine();
    size_t spent[2] = {0};
    for (unsigned bin = 0; bin < CACHE_BINS; bin++) {
        const struct cpu_bin *p = &c->bin[bin];
        spent[bin >= CACHE_BLOCKS] += p->cap * cache_bin_size(bin);
        if (p->slots == NULL) {
            assert_int_equal(p->cap, 0);
            assert_ptr_equal(c->top[bin], no_cache.top[bin]);
            assert_ptr_equal(c->full[bin], no_cache.full[bin]);
            continue;
        }
        assert_null(p->slots[0]);
        assert_true(p->cap < p->length);
        assert_ptr_equal(c->full[bin], p->slots + p->cap);
        assert_true(c->top[bin] >= p->slots && c->top[bin] <= c->full[bin]);
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
    assert_int_equal(c->spent[0], spent[0]);
    assert_int_equal(c->spent[1], spent[1]);
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
        assert_int_equal(first, 1);
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
    assert_cache_sound();
}

/* Two dozen sizes in turn: together no more than the budget. */
static void test_the_budget(void **state) {
    (void)state;
    enum { BUDGET = 128 * 1024 };
    assume(OPT_TCACHE_BUDGET, BUDGET);
    for (int i = 0; i < 20; i++)
        for (unsigned bin = 0; bin < RUN_BINS; bin += 4) {
            swing(run_bin_size(bin), 300, 1);
            assert_true(mine()->spent[0] <= BUDGET);
        }
    assert_cache_sound();
    assert_sound();
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
    size_t own = single_threaded() ? BUDGET : BUDGET / 16; /* a sanitizer has a thread, and then a seat has its share */
    assert_in_range(mine()->spent[1], own / 2, own);
    assert_int_equal(mine()->spent[0], 0);
    swing(64, 3000, 9);
    assert_int_equal(cap_of(run_bin_of_request(64)), 1023);
    assert_cache_sound();
    assert_sound();
}

/* ---- threads ---- */

static int seat;
static size_t spent;

static void *use_a_little(void *unused) {
    (void)unused;
    for (int i = 0; i < 20; i++)
        for (size_t size = 16; size <= 4096; size += 48) {
            void *p[20];
            take(p, 20, size);
            give(p, 20);
        }
    seat = cache_number();
    spent = mine()->spent[0];
    assert_cache_sound();
    return NULL;
}

static void run_thread(void *(*body)(void *)) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, NULL), 0);
    pthread_join(thread, NULL);
}

static void assert_nothing_is_out(void) {
    struct runs_totals t;
    caches_empty_here();
    depot_empty();
    runs_count(&t);
    assert_int_equal(t.out, 0);
    assert_sound();
}

/* A thread that ends leaves nothing in its cache, and the next one has it; while there are many, a seat has a part of
   what a CPU's cache may have. */
static void test_seats(void **state) {
    (void)state;
    rung_free(rung_malloc(100));
    int own = cache_number();
    assert_int_equal(own, CACHES_MAX - 1);
    run_thread(use_a_little);
    assert_int_equal(seat, CACHES_MAX - 2);
    assert_in_range(spent, 1, option(OPT_TCACHE_BUDGET) / 16);
    assert_int_equal(cache_bytes(cache_numbered(seat)), 0);
    size_t caches = counter_get(COUNT_TCACHES);
    run_thread(use_a_little);
    assert_int_equal(seat, CACHES_MAX - 2);
    assert_int_equal(counter_get(COUNT_TCACHES), caches);
    assert_int_equal(cache_number(), own);
    assert_nothing_is_out();
}

/* What was asked of all is done at the next call that is no hit. */
static void test_others_empty_when_asked(void **state) {
    (void)state;
    swing(64, 100, 3);
    assert_true(count_in(run_bin_of_request(64)) > 0);
    caches_ask_to_empty();
    assert_true(count_in(run_bin_of_request(64)) > 0);
    rung_free(rung_malloc(5000));
    assert_int_equal(count_in(run_bin_of_request(64)), 0);
    assert_nothing_is_out();
}

/* What nobody called on since the last look goes. */
static void test_caches_age(void **state) {
    (void)state;
    swing(64, 100, 3);
    assert_true(caches_age());
    assert_true(cache_bytes(mine()) > 0);
    assert_false(caches_age());
    assert_int_equal(cache_bytes(mine()), 0);
    assert_nothing_is_out();
}

/* Each size used once: one object of each is kept, not a bundle. */
static void test_slow_start(void **state) {
    (void)state;
    void *p[64];
    for (size_t i = 0; i < 64; i++)
        p[i] = rung_malloc(16 * (i + 1));
    assert_int_equal(cache_bytes(mine()), 0);
    for (size_t i = 0; i < 64; i++)
        rung_free(p[i]);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(count_in(run_bin_of_request(16 * (i + 1))), 1);
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
        assert_int_equal(cap_of(size <= RUN_MAX ? run_bin_of_request(size) : CACHE_BLOCKS + block_bin_of_request(size)), 0);
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
    assert_ptr_equal(mine(), &no_cache);
    rung_free(p);
    void *q = rung_malloc(100);
    assert_ptr_equal(q, p);
    rung_free(q);
    p = rung_malloc(100000);
    rung_free(p);
    double_heal();
    for (unsigned bin = 0; bin < CACHE_BINS; bin++)
        assert_true(no_cache.full[bin] == NULL && *no_cache.top[bin] == NULL);
    assert_sound();
}

/* ---- a second free ---- */

static const char double_free[] = "free(): double free detected in tcache 2\n";

static void *object;

static void free_twice(void) {
    rung_free(object);
    rung_free(object);
}
static void free_again_later(void) {
    void *other = rung_malloc(rung_malloc_usable_size(object));
    rung_free(object);
    rung_free(other);
    rung_free(object);
    caches_empty_here(); /* seen when it goes home */
    depot_empty();
}
static void *free_and_end(void *where) {
    rung_free(*(void **)where);
    return NULL;
}
static void free_what_another_freed(void) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, free_and_end, &object), 0);
    pthread_join(thread, NULL);
    rung_free(object);
    caches_empty_here();
    depot_empty();
}
static void free_what_lies_in_the_run(void) {
    rung_free(object);
    caches_empty_here();
    depot_empty();
    rung_free(object);
    caches_empty_here();
}
static void free_again_with_a_full_bin(void) {
    static void *p[3000];
    take(p, 3000, rung_malloc_usable_size(object));
    rung_free(object);
    give(p, 3000);
    rung_free(object);
    caches_empty_here();
    depot_empty();
}

static void test_a_second_free_is_seen(void **state) {
    (void)state;
    for (size_t size = 16; size <= RUN_MAX; size *= 2) {
        void *neighbours[8];
        take(neighbours, 8, size);
        object = rung_malloc(size);
        assert_dies(free_twice, double_free);
        assert_dies(free_again_later, double_free);
        assert_dies(free_what_another_freed, double_free);
        assert_dies(free_what_lies_in_the_run, double_free);
        assert_dies(free_again_with_a_full_bin, double_free);
        rung_free(object);
        give(neighbours, 8);
    }
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bins_deepen_with_use, with_runs),
        cmocka_unit_test_setup(test_one_object_stays_one, with_runs),
        cmocka_unit_test_setup(test_the_depth_has_an_option, with_runs),
        cmocka_unit_test_setup(test_the_budget, with_runs),
        cmocka_unit_test_setup(test_unused_bins_become_shallow, with_runs),
        cmocka_unit_test_setup(test_blocks_have_a_budget_of_their_own, with_runs),
        cmocka_unit_test_setup(test_seats, with_runs),
        cmocka_unit_test_setup(test_others_empty_when_asked, with_runs),
        cmocka_unit_test_setup(test_caches_age, with_runs),
        cmocka_unit_test_setup(test_slow_start, with_runs),
        cmocka_unit_test_setup(test_no_memory_for_slots, with_runs),
        cmocka_unit_test_setup(test_no_memory_for_more_slots, with_runs),
        cmocka_unit_test_setup(test_no_memory_for_a_cache, with_runs),
        cmocka_unit_test_setup(test_a_second_free_is_seen, with_runs),
    };
    return UNIT_RUN(tests);
}
