/* Runs: small objects without headers; the cache and the depot in front of them. */
#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "cache/cpu_cache.h"
#include "cache/depot.h"
#include "runs/run.h"
#include "runs/space.h"
#include "unit.h"

static int with_runs(void **state) {
    (void)state;
    assume(OPT_RUNS, 1);
    return 0;
}

static void test_size_classes(void **state) {
    (void)state;
    assert_int_equal(run_bin_of_request(0), 0);
    assert_int_equal(run_bin_of_request(1024), 63);
    assert_int_equal(run_bin_size(64), 1152);
    assert_int_equal(run_bin_size(RUN_BINS - 1), 32768);
    size_t last = 0;
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        size_t size = run_bin_size(bin);
        assert_true(size > last && size % 16 == 0);
        assert_int_equal(run_bin_of_request(size), bin);
        assert_int_equal(run_bin_of_request(last + 1), bin);
        assert_true(size <= 1024 || (size - last - 1) * 9 <= size); /* no more than a ninth is lost */
        last = size;
    }
}

static void test_every_size(void **state) {
    (void)state;
    for (size_t size = 1; size <= 33000; size += size < 1100 ? 1 : 111) {
        unsigned char *p = rung_malloc(size), *q = rung_malloc(size);
        assert_true((uintptr_t)p % 16 == 0 && (uintptr_t)q % 16 == 0);
        assert_int_equal(in_run_window(p), size <= RUN_MAX);
        size_t usable = rung_malloc_usable_size(p);
        assert_true(usable >= size);
        if (in_run_window(p))
            assert_int_equal(usable, run_bin_size(run_bin_of_request(size)));
        memset(p, 1, usable);
        memset(q, 2, usable);
        assert_int_equal(p[0] + p[usable - 1], 2);
        rung_free(p);
        rung_free(q);
    }
    assert_sound();
}

/* 16 bytes cost 16. */
static void test_no_headers(void **state) {
    (void)state;
    enum { N = 10000 };
    static char *p[N];
    take((void **)p, N, 16);
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (size_t i = 0; i < N; i++) {
        low = (uintptr_t)p[i] < low ? (uintptr_t)p[i] : low;
        high = (uintptr_t)p[i] > high ? (uintptr_t)p[i] : high;
    }
    assert_true(high - low <= (size_t)(N + 4096) * 16);
    assert_int_equal(main_arena.system, 0);
    give((void **)p, N);
    assert_sound();
}

static void test_calloc_of_an_object(void **state) {
    (void)state;
    for (size_t size = 16; size <= 32768; size *= 2)
        for (int round = 0; round < 3; round++) {
            unsigned char *p = rung_malloc(size);
            memset(p, 0xff, size);
            rung_free(p);
            p = rung_calloc(size, 1);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(p[i], 0);
            rung_free(p);
        }
    assert_sound();
}

/* An empty run serves any size. */
static void test_empty_runs_change_their_size(void **state) {
    (void)state;
    enum { N = 20000 };
    static void *p[N];
    for (int round = 0; round < 4; round++) {
        size_t size = (size_t)100 << round;
        take(p, N >> round, size);
        give(p, N >> round);
        depot_empty();
        assert_sound();
    }
    assert_true(space_totals.system < 6 << 20); /* 2 MB at a time, and what caches kept */
}

static void test_empty_runs_are_purged(void **state) {
    (void)state;
    enum { N = 200 };
    void *p[N];
    assume(OPT_RUN_KEEP, 0);
    take(p, N, 30000);
    double_count_from_here();
    give(p, N);
    rung_malloc_trim(0);
    assert_true(double_bytes(VERB_PURGE) > 2 << 20);
    assert_sound();
}

static void take_and_keep(void *blocks) {
    take(blocks, 5000, 200);
}

/* What another thread frees is of use to the first: memory does not grow. */
static void test_between_threads(void **state) {
    (void)state;
    static void *p[5000];
    size_t after_first = 0;
    for (int round = 0; round < 10; round++) {
        in_thread(take_and_keep, p);
        give(p, 5000);
        assert_sound();
        if (round == 1)
            after_first = space_totals.system;
    }
    assert_true(space_totals.system <= after_first + (1 << 20));
    in_thread(take_and_keep, p);
    depot_empty();
    assert_sound();
    give(p, 5000);
}

static void take_and_give(void *blocks) {
    take(blocks, 3000, 100);
    give(blocks, 3000);
}

/* What is out is what live blocks have, once no cache and no depot has anything. */
static void test_counts(void **state) {
    (void)state;
    static void *p[5000];
    struct runs_totals t;
    in_thread(take_and_give, p);
    depot_empty();
    runs_count(&t);
    assert_int_equal(t.out, 0);
    assert_int_equal(t.used, 0);
    in_thread(take_and_keep, p);
    depot_empty();
    runs_count(&t);
    assert_int_equal(t.out, 5000 * 208);
    assert_int_equal(t.used, ((size_t)5000 + 65536 / 208 - 1) / (65536 / 208) * 65536);
    assert_sound();
}

static void test_depot_is_bounded(void **state) {
    (void)state;
    enum { N = 60000 };
    static void *p[N];
    assume(OPT_DEPOT_BYTES, 65536);
    take(p, 1, 64);
    counter_add(COUNT_TCACHES, 1); /* as if there were another thread */
    take(p, N, 64); /* comes to the depot in vain: so much is wanted */
    size_t most = 0;
    for (size_t i = 0; i < N; i++) {
        rung_free(p[i]);
        most = depot_bytes() > most ? depot_bytes() : most;
    }
    assert_true(most > 0 && most <= 65536);
    /* And then nobody wants it: what lies there has gone home with the rest. */
    assert_int_equal(depot_bytes(), 0);
    assert_sound();
}

static void test_a_single_thread_has_no_depot(void **state) {
    (void)state;
    enum { N = 60000 };
    static void *p[N];
    take(p, N, 64);
    give(p, N);
    assert_int_equal(depot_bytes(), 0);
}

static void test_alignment(void **state) {
    (void)state;
    for (size_t align = 16; align <= 8192; align *= 2)
        for (size_t size = 1; size < 20000; size = size * 3 + 1) {
            void *p = rung_memalign(align, size);
            assert_int_equal((uintptr_t)p % align, 0);
            assert_true(rung_malloc_usable_size(p) >= size);
            memset(p, 1, size);
            rung_free(p);
        }
    assert_sound();
}

/* ---- misuse ---- */

static void *block;

static void free_twice(void) {
    rung_free(block);
    rung_free(block);
}
static void free_twice_much_later(void) {
    enum { N = 5000 };
    static void *p[N];
    take(p, N, 100);
    rung_free(block);
    give(p, N);
    rung_free(block);
    caches_empty_here();
    depot_empty();
}
static void free_it(void *p) {
    rung_free(p);
}
static void free_twice_in_two_threads(void) {
    in_thread(free_it, block);
    rung_free(block);
    caches_empty_here(); /* seen when it goes home */
    depot_empty();
}
static void free_interior(void) {
    in_thread(free_it, (char *)block + 16); /* whose cache goes home when it ends */
}
static void free_interior_and_pass_it_on(void) {
    rung_free((char *)block + 16);
    caches_empty_here();
    depot_empty();
}
static void free_twice_with_the_key_gone(void) {
    rung_free(block);
    ((uintptr_t *)block)[1] = 0;
    caches_empty_here();
    depot_empty();
    rung_free(block);
    caches_empty_here();
}

static void test_misuse(void **state) {
    (void)state;
    block = rung_malloc(100);
    assert_true(in_run_window(block));
    assert_dies(free_twice, "free(): double free detected in tcache 2\n");
    assert_dies(free_twice_much_later, "free(): double free detected in tcache 2\n");
    assert_dies(free_twice_in_two_threads, "free(): double free detected in tcache 2\n");
    assert_dies(free_interior, "free(): invalid pointer\n");
    assert_dies(free_interior_and_pass_it_on, "free(): invalid pointer\n");
    assert_dies(free_twice_with_the_key_gone, "free(): double free detected in tcache 2\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size_classes),
        cmocka_unit_test_setup(test_every_size, with_runs),
        cmocka_unit_test_setup(test_no_headers, with_runs),
        cmocka_unit_test_setup(test_calloc_of_an_object, with_runs),
        cmocka_unit_test_setup(test_empty_runs_change_their_size, with_runs),
        cmocka_unit_test_setup(test_empty_runs_are_purged, with_runs),
        cmocka_unit_test_setup(test_between_threads, with_runs),
        cmocka_unit_test_setup(test_counts, with_runs),
        cmocka_unit_test_setup(test_depot_is_bounded, with_runs),
        cmocka_unit_test_setup(test_a_single_thread_has_no_depot, with_runs),
        cmocka_unit_test_setup(test_alignment, with_runs),
        cmocka_unit_test_setup(test_misuse, with_runs),
    };
    return UNIT_RUN(tests);
}
