/* Which free chunk serves a request, and what happens to the others (rows A3, A4). */
#include <errno.h>
#include <string.h>

#include "arena/bin.h"
#include "base/counter.h"
#include "cache/tcache.h"
#include "unit.h"

/* Blocks of one size with live ones between, so that freed ones do not merge. */
static void apart(void **freed, void **live, size_t n, size_t size) {
    for (size_t i = 0; i < n; i++) {
        freed[i] = rung_malloc(size);
        live[i] = rung_malloc(16);
        assert_true(freed[i] != NULL && live[i] != NULL);
    }
}

/* Free chunks for the given requests, in the order in which they were freed. */
static void holes(void **freed, const size_t *sizes, size_t n) {
    void *live;
    for (size_t i = 0; i < n; i++)
        apart(&freed[i], &live, 1, sizes[i]);
    give(freed, n);
}

static void *hole(size_t size) {
    void *p;
    holes(&p, &size, 1);
    return p;
}

/* ---- GROUND: 40 x malloc(64), freed in order, taken again ---- */

static void lifo_run(size_t count, bool live_behind) {
    void *first[40], *second[40];
    assume(OPT_TCACHE_COUNT, count);
    take(first, 40, 64);
    if (live_behind)
        assert_non_null(rung_malloc(64));
    give(first, 40);
    take(second, 40, 64);
    for (size_t i = 0; i < 40; i++)
        assert_ptr_equal(second[i], first[i < count ? count - 1 - i : i]);
    assert_sound();
}

static void test_lifo_run(void **state) {
    (void)state;
    lifo_run(16, false);
}
static void test_lifo_run_before_a_live_chunk(void **state) {
    (void)state;
    lifo_run(16, true);
}
static void test_lifo_run_of_7(void **state) {
    (void)state;
    lifo_run(7, true);
}
static void test_lifo_run_without_cache(void **state) {
    (void)state;
    lifo_run(0, true);
}
static void test_lifo_run_of_32(void **state) {
    (void)state;
    lifo_run(32, false);
}

/* ---- bins ---- */

static void test_small_bin_hands_out_the_oldest(void **state) {
    (void)state;
    without_cache();
    void *freed[5], *live[5];
    apart(freed, live, 5, 100);
    give(freed, 5);
    for (size_t i = 0; i < 5; i++)
        assert_ptr_equal(rung_malloc(100), freed[i]);
    assert_sound();
}

/* Row A4: the siblings go to the cache while the lock is held, the last one on top. */
static void test_small_bin_stash(void **state) {
    (void)state;
    assume(OPT_TCACHE_COUNT, 4);
    void *freed[14], *live[14];
    apart(freed, live, 14, 100);
    give(freed, 14);
    const size_t order[] = {3, 2, 1, 0, 4, 8, 7, 6, 5, 9, 13, 12, 11, 10};
    for (size_t i = 0; i < 14; i++) {
        assert_ptr_equal(rung_malloc(100), freed[order[i]]);
        assert_sound();
    }
}

static void test_exact_fit_in_the_unsorted_list(void **state) {
    (void)state;
    without_cache();
    void *p[3];
    holes(p, (const size_t[]){3000, 2000, 4000}, 3);
    assert_false(list_empty(unsorted(&main_arena.bins)));
    assert_ptr_equal(rung_malloc(2000), p[1]);
    /* What was looked at before it has been sorted, what came after has not. */
    assert_ptr_equal(unsorted(&main_arena.bins)->next, &chunk_of_mem(p[2])->link);
    assert_ptr_equal(unsorted(&main_arena.bins)->prev, &chunk_of_mem(p[2])->link);
    assert_false(list_empty(bin_head(&main_arena.bins, bin_of_size(chunk_bytes(p[0])))));
    assert_sound();
}

/* Exact fits on the way go to the cache; the first one that no longer has room there is the answer. */
static void test_prefill_from_the_unsorted_list(void **state) {
    (void)state;
    assume(OPT_TCACHE_COUNT, 3);
    void *freed[10], *live[10];
    apart(freed, live, 10, 1024); /* chunks of 1040: the largest that are cached, and not small */
    give(freed, 10);
    const size_t order[] = {2, 1, 0, 6, 5, 4, 3};
    for (size_t i = 0; i < 7; i++)
        assert_ptr_equal(rung_malloc(1024), freed[order[i]]);
    assert_sound();
}

static void test_prefill_is_bounded(void **state) {
    (void)state;
    assume(OPT_TCACHE_COUNT, 8);
    assume(OPT_TCACHE_UNSORTED_LIMIT, 2);
    void *freed[20], *live[20], *cached[8];
    apart(freed, live, 20, 1024);
    give(freed, 20);
    take(cached, 8, 1024);
    /* Three have been looked at when the limit is passed: the last of them is handed out. */
    assert_ptr_equal(rung_malloc(1024), freed[10]);
    size_t bin = tcache_bin(1040);
    assert_int_equal(self.tcache->room[bin], 6);
    assert_ptr_equal(rung_malloc(1024), freed[9]);
    assert_ptr_equal(rung_malloc(1024), freed[8]);
    assert_ptr_equal(rung_malloc(1024), freed[13]);
    assert_sound();
}

/* The limit counts what is looked at, and only once there is something to hand out. */
static void test_limit_waits_for_a_fit(void **state) {
    (void)state;
    assume(OPT_TCACHE_COUNT, 1);
    assume(OPT_TCACHE_UNSORTED_LIMIT, 1);
    void *p[8];
    holes(p, (const size_t[]){1024, 2000, 2100, 2200, 2300, 2400, 1024, 1024}, 8);
    assert_ptr_equal(rung_malloc(1024), p[0]); /* the cached one */
    /* Five that do not fit, then one that goes to the cache, and the limit is long passed. */
    assert_ptr_equal(rung_malloc(1024), p[6]);
    assert_ptr_equal(unsorted(&main_arena.bins)->next, &chunk_of_mem(p[7])->link);
    assert_sound();
}

static void test_best_fit_is_split(void **state) {
    (void)state;
    without_cache();
    void *freed[3];
    holes(freed, (const size_t[]){9000, 5000, 20000}, 3);
    char *p = rung_malloc(4000);
    assert_ptr_equal(p, freed[1]);
    assert_int_equal(chunk_bytes(p), 4016);
    /* The rest is one chunk. */
    assert_ptr_equal(rung_malloc(5008 - 4016 - 8), p + 4016);
    assert_sound();
}

/* A rest too small for a chunk stays with the block. */
static void test_whole_chunk_when_the_rest_is_too_small(void **state) {
    (void)state;
    without_cache();
    void *p = hole(5000);
    assert_ptr_equal(rung_malloc(5000 - 16), p);
    assert_int_equal(chunk_bytes(p), 5008);
    assert_sound();
}

static void test_second_of_a_size_in_a_large_bin(void **state) {
    (void)state;
    without_cache();
    void *p[3];
    holes(p, (const size_t[]){5000, 5000, 5000}, 3);
    rung_malloc(30000); /* sorts them */
    assert_ptr_equal(rung_malloc(4990), p[2]);
    assert_ptr_equal(rung_malloc(4990), p[1]);
    assert_ptr_equal(rung_malloc(4990), p[0]);
    assert_sound();
}

static void test_next_larger_small_bin(void **state) {
    (void)state;
    without_cache();
    void *p = hole(200);
    char *q = rung_malloc(100);
    assert_ptr_equal(q, p);
    assert_ptr_equal(main_arena.last_remainder, chunk_of_mem(q + 112));
    assert_sound();
}

/* Small requests in a row are neighbours in space. */
static void test_last_remainder(void **state) {
    (void)state;
    without_cache();
    char *p = hole(5000);
    for (size_t i = 0; i < 40; i++) {
        assert_ptr_equal(rung_malloc(100), p + 112 * i);
        assert_sound();
    }
}

/* ... but only while nothing else has been freed: then it is sorted, and best fit decides. */
static void test_last_remainder_among_others(void **state) {
    (void)state;
    without_cache();
    void *other = rung_malloc(1200);
    char *p = hole(5000);
    assert_ptr_equal(rung_malloc(100), p);
    rung_free(other);
    assert_ptr_equal(rung_malloc(100), other);
    assert_sound();
}

static void test_top_last(void **state) {
    (void)state;
    without_cache();
    char *p = rung_malloc(1000);
    char *q = rung_malloc(1000);
    assert_ptr_equal(q, p + 1008);
    assert_ptr_equal(main_arena.top, chunk_of_mem(q + 1008));
    /* What is asked for exactly fits when 32 bytes are left. */
    size_t whole = top_size(&main_arena) - 32;
    double_count_from_here();
    assert_non_null(rung_malloc(whole - 8));
    assert_int_equal(top_size(&main_arena), 32);
    assert_int_equal(double_calls(VERB_BREAK), 0);
    assert_non_null(rung_malloc(1));
    assert_int_equal(double_calls(VERB_BREAK), 1);
    assert_sound();
}

/* A long unsorted list does not make one request slow without bound: 10000 at a time. */
static void test_sorting_is_bounded(void **state) {
    (void)state;
    enum { N = 12000 };
    static void *freed[N], *live[N];
    without_cache();
    apart(freed, live, N, 1100);
    give(freed, N);
    rung_malloc(1300);
    size_t left = 0;
    for (struct link *l = unsorted(&main_arena.bins)->next; l != unsorted(&main_arena.bins); l = l->next)
        left++;
    assert_int_equal(left, N - 10000);
    assert_sound();
}

static void test_absurd_requests(void **state) {
    (void)state;
    const size_t sizes[] = {(size_t)PTRDIFF_MAX + 1, PTRDIFF_MAX, PTRDIFF_MAX - 15, SIZE_MAX, SIZE_MAX - 8};
    for (size_t i = 0; i < 5; i++) {
        errno = 0;
        assert_null(rung_malloc(sizes[i]));
        assert_int_equal(errno, ENOMEM);
        errno = 0;
        assert_null(rung_calloc(sizes[i], 1));
        assert_int_equal(errno, ENOMEM);
        errno = 0;
        assert_null(rung_memalign(64, sizes[i]));
        assert_int_equal(errno, ENOMEM);
    }
    errno = 0;
    assert_null(rung_calloc(SIZE_MAX / 2, 3));
    assert_int_equal(errno, ENOMEM);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lifo_run),
        cmocka_unit_test(test_lifo_run_before_a_live_chunk),
        cmocka_unit_test(test_lifo_run_of_7),
        cmocka_unit_test(test_lifo_run_without_cache),
        cmocka_unit_test(test_lifo_run_of_32),
        cmocka_unit_test(test_small_bin_hands_out_the_oldest),
        cmocka_unit_test(test_small_bin_stash),
        cmocka_unit_test(test_exact_fit_in_the_unsorted_list),
        cmocka_unit_test(test_prefill_from_the_unsorted_list),
        cmocka_unit_test(test_prefill_is_bounded),
        cmocka_unit_test(test_limit_waits_for_a_fit),
        cmocka_unit_test(test_best_fit_is_split),
        cmocka_unit_test(test_whole_chunk_when_the_rest_is_too_small),
        cmocka_unit_test(test_second_of_a_size_in_a_large_bin),
        cmocka_unit_test(test_next_larger_small_bin),
        cmocka_unit_test(test_last_remainder),
        cmocka_unit_test(test_last_remainder_among_others),
        cmocka_unit_test(test_top_last),
        cmocka_unit_test(test_sorting_is_bounded),
        cmocka_unit_test(test_absurd_requests),
    };
    return UNIT_RUN(tests);
}
