/* malloc_trim (row D7). */
#include <string.h>

#include "arena/heap.h"
#include "unit.h"

/* GROUND: a heap that has been freed trims to one page, once. */
static void test_top_goes_once(void **state) {
    (void)state;
    void *p = rung_malloc(120 * 1024), *q = rung_malloc(130 * 1024);
    rung_free(p);
    rung_free(q);
    assert_int_equal(rung_malloc_trim(0), 1);
    struct mallinfo2 m = rung_mallinfo2();
    assert_int_equal(m.arena, 4096);
    assert_int_equal(m.ordblks, 1);
    assert_int_equal(m.fordblks, 4096);
    assert_int_equal(m.keepcost, 4096);
    assert_int_equal(m.uordblks, 0);
    assert_int_equal(rung_malloc_trim(0), 0);
    assert_sound();
}

static void test_pad_is_kept(void **state) {
    (void)state;
    without_cache();
    rung_free(rung_malloc(100000));
    assert_int_equal(rung_malloc_trim(50000), 1);
    assert_true(top_size(&main_arena) > 50000 + 32 && top_size(&main_arena) <= 50000 + 32 + 4096 + 1);
    assert_int_equal(rung_malloc_trim(50000), 0);
    assert_int_equal(rung_malloc_trim(SIZE_MAX), 0);
    assert_sound();
}

static void test_before_any_memory(void **state) {
    (void)state;
    assert_int_equal(rung_malloc_trim(0), 0);
    assert_sound();
}

enum { N = 60, SIZE = 20000 };

/* Every free chunk's whole pages are let go; links and boundary tags stay. */
static void interior(void) {
    unsigned char *p[N];
    take((void **)p, N, SIZE);
    for (size_t i = 0; i < N; i++)
        memset(p[i], 0xee, SIZE);
    for (size_t i = 0; i < N; i += 2)
        rung_free(p[i]);
    double_count_from_here();
    assert_int_equal(rung_malloc_trim(0), 1);
    assert_int_equal(double_calls(VERB_PURGE), N / 2);
    assert_true(double_bytes(VERB_PURGE) >= N / 2 * (SIZE - 2 * os_facts.page - 64) / 4096 * 4096);
    assert_sound();
    for (size_t i = 1; i < N; i += 2)
        for (size_t k = 0; k < SIZE; k++)
            assert_int_equal(p[i][k], 0xee);
    /* The middle of a hole reads as zeros now, and the hole is a chunk like others. */
    assert_int_equal(p[10][SIZE / 2], 0);
    void *again = rung_malloc(SIZE);
    assert_non_null(again);
    rung_free(again);
    assert_sound();
    for (size_t i = 1; i < N; i += 2)
        rung_free(p[i]);
    assert_sound();
}

static void test_interior_of_the_main_arena(void **state) {
    (void)state;
    without_cache();
    interior();
}

static void test_interior_of_a_secondary_arena(void **state) {
    (void)state;
    without_cache();
    self.arena = NULL;
    interior();
    assert_ptr_not_equal(self.arena, &main_arena);
}

static void test_every_arena_is_visited(void **state) {
    (void)state;
    without_cache();
    void *p[4][3];
    for (size_t i = 0; i < 4; i++) {
        self.arena = i == 0 ? &main_arena : NULL;
        take(p[i], 3, SIZE);
    }
    for (size_t i = 0; i < 4; i++)
        rung_free(p[i][1]);
    double_count_from_here();
    assert_int_equal(rung_malloc_trim(0), 1);
    assert_int_equal(double_calls(VERB_PURGE), 4);
    assert_sound();
}

/* Chunks without a whole page of their own cost no call. */
static void test_small_holes(void **state) {
    (void)state;
    without_cache();
    void *p[200];
    take(p, 200, 1500);
    for (size_t i = 0; i < 200; i += 2)
        rung_free(p[i]);
    rung_malloc_trim(0);
    double_count_from_here();
    assert_int_equal(rung_malloc_trim(0), 0);
    assert_int_equal(double_calls(VERB_PURGE), 0);
    assert_sound();
}

static void test_refused_purge(void **state) {
    (void)state;
    without_cache();
    void *p[3];
    take(p, 3, SIZE);
    rung_free(p[1]);
    rung_malloc_trim(0);
    double_fail_verb(VERB_PURGE);
    assert_int_equal(rung_malloc_trim(0), 0);
    assert_sound();
}

static void test_larger_pages(void **state) {
    (void)state;
    struct os_facts facts = os_facts;
    facts.page = 16384;
    double_set_facts(&facts);
    without_cache();
    void *p[3];
    take(p, 3, 60000);
    rung_free(p[1]);
    double_count_from_here();
    assert_int_equal(rung_malloc_trim(0), 1);
    assert_int_equal(double_bytes(VERB_PURGE) % 16384, 0);
    assert_true(double_bytes(VERB_PURGE) >= 32768);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_top_goes_once),
        cmocka_unit_test(test_pad_is_kept),
        cmocka_unit_test(test_before_any_memory),
        cmocka_unit_test(test_interior_of_the_main_arena),
        cmocka_unit_test(test_interior_of_a_secondary_arena),
        cmocka_unit_test(test_every_arena_is_visited),
        cmocka_unit_test(test_small_holes),
        cmocka_unit_test(test_refused_purge),
        cmocka_unit_test(test_larger_pages),
    };
    return UNIT_RUN(tests);
}
