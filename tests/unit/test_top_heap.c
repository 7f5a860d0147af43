/* A secondary arena's memory: growth, a second window, and giving back (rows C3, D5). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena/arenas.h"
#include "arena/heap.h"
#include "arena/top.h"
#include "base/counter.h"
#include "unit.h"

static struct arena *secondary(void) {
    without_cache();
    self.arena = NULL; /* the next malloc binds the thread to a new one */
    rung_free(rung_malloc(16));
    assert_ptr_not_equal(self.arena, &main_arena);
    assert_sound();
    return self.arena;
}

static size_t windows(struct arena *a) {
    size_t n = 0;
    for (struct heap *h = heap_of(a->top); h != NULL; h = h->prev)
        n++;
    return n;
}

/* GROUND: 64 x 4096 in a thread: system 266240, one free chunk of 912 bytes. */
static void test_sixty_four_pages(void **state) {
    (void)state;
    struct arena *a = secondary();
    assert_int_equal(a->system, 135168);
    void *blocks[64];
    take(blocks, 64, 4096);
    assert_int_equal(a->system, 266240);
    assert_int_equal(top_size(a), 912);
    assert_int_equal(chunk_head(chunk_of_mem(blocks[0])), 4112 | PREV_INUSE | SECONDARY);
    assert_sound();
    struct mallinfo2 m = rung_mallinfo2();
    assert_int_equal(m.arena, 266240); /* nothing in the main arena */
    assert_int_equal(m.fordblks, 912);
    give(blocks, 64);
    assert_sound();
}

/* A page at a time: there is no pad in a window that exists. */
static void test_growth_is_by_the_page(void **state) {
    (void)state;
    struct arena *a = secondary();
    double_count_from_here();
    size_t before = a->system;
    void *blocks[100];
    take(blocks, 100, 4096);
    assert_int_equal(double_calls(VERB_COMMIT), (a->system - before) / 4096);
    assert_int_equal(double_calls(VERB_RESERVE), 0);
    assert_sound();
    give(blocks, 100);
}

enum { MANY = 40000 };
static void *blocks[MANY];

/* GROUND: 40,000 x 2000 bytes fill two windows with 19,627 mprotect calls; freed in reverse order, the second
   window is unmapped, and 19,625 madvise calls are made. */
static void test_two_windows(void **state) {
    (void)state;
    struct arena *a = secondary();
    double_count_from_here();
    take(blocks, MANY, 2000);
    assert_int_equal(windows(a), 2);
    assert_in_range(double_calls(VERB_COMMIT), 19627 - 10, 19627 + 10);
    assert_int_equal(counter_get(COUNT_SUBHEAPS), 2);
    assert_sound();
    struct heap *second = heap_of(a->top);
    assert_ptr_equal(second->prev, heap_of(blocks[0]));
    assert_int_equal(second->lead, 0);
    double_count_from_here();
    for (size_t i = MANY; i-- > 0;)
        rung_free(blocks[i]);
    assert_int_equal(windows(a), 1);
    assert_int_equal(counter_get(COUNT_SUBHEAPS), 1);
    assert_in_range(double_calls(VERB_PURGE), 19625 - 10, 19625 + 10);
    assert_sound();
}

/* A window full to the last page ends with two fenceposts, and what was left before them is used again. */
static void test_fenceposts(void **state) {
    (void)state;
    struct arena *a = secondary();
    assume(OPT_MMAP_MAX, 0);
    struct heap *first = heap_of(a->top);
    void *big = rung_malloc(60 << 20);
    size_t rest = top_size(a) - 2 * FENCEPOST;
    assert_true(rest >= 32);
    void *next = rung_malloc(10 << 20); /* does not fit behind it */
    assert_int_equal(windows(a), 2);
    assert_ptr_equal(heap_of(next), heap_of(a->top));
    struct chunk *post = (struct chunk *)((char *)first + first->size - 2 * FENCEPOST);
    assert_int_equal(chunk_head(post) & ~PREV_INUSE, FENCEPOST);
    assert_int_equal(chunk_head(chunk_next(post)), FENCEPOST | PREV_INUSE);
    assert_sound();
    void *small = rung_malloc(rest - 8); /* the whole of the old top */
    assert_ptr_equal(heap_of(small), first);
    rung_free(small);
    rung_free(big);
    assert_sound();
    rung_free(next);
    assert_int_equal(windows(a), 1);
    assert_sound();
}

/* Every distance of the old top's size from what a chunk needs. */
static void test_small_rests_before_the_fenceposts(void **state) {
    (void)state;
    struct arena *a = secondary();
    assume(OPT_MMAP_MAX, 0);
    for (size_t rest = 32; rest <= 160; rest += 16) {
        size_t fill = HEAP_MAX - ((uintptr_t)a->top & (HEAP_MAX - 1)) - rest;
        void *p = rung_malloc(fill - 8);
        assert_non_null(p);
        assert_int_equal(top_size(a), rest);
        void *q = rung_malloc(1000);
        assert_int_equal(windows(a), 2);
        assert_sound();
        rung_free(q);
        rung_malloc_trim(0);
        assert_sound();
        rung_free(p);
        rung_malloc_trim(0);
        assert_sound();
        assert_int_equal(windows(a), 1);
    }
}

/* A live block at its start holds a window. */
static void test_a_window_in_use_stays(void **state) {
    (void)state;
    struct arena *a = secondary();
    assume(OPT_MMAP_MAX, 0);
    void *p = rung_malloc(60 << 20);
    void *q = rung_malloc(10 << 20);
    void *r = rung_malloc(10 << 20);
    rung_free(r);
    rung_malloc_trim(0);
    assert_int_equal(windows(a), 2);
    assert_sound();
    double_fail_verb(VERB_UNMAP);
    rung_free(q);
    assert_int_equal(windows(a), 2); /* refused */
    assert_sound();
    double_heal();
    rung_free(p);
    void *s = rung_malloc(1000);
    rung_free(s);
    rung_malloc_trim(0);
    assert_int_equal(windows(a), 1);
    assert_sound();
}

/* Row D5: a secondary arena gives back when 64 KiB have merged, down to the pad. */
static void test_trim_keeps_the_pad(void **state) {
    (void)state;
    struct arena *a = secondary();
    void *p = rung_malloc(120000), *q = rung_malloc(120000), *r = rung_malloc(120000);
    rung_free(r);
    rung_free(q);
    rung_free(p);
    assert_true(top_size(a) > 131072 && top_size(a) <= 131072 + 4096 + 33);
    assert_sound();
    assume(OPT_TRIM_THRESHOLD, SIZE_MAX);
    p = rung_malloc(120000), q = rung_malloc(120000);
    size_t system = a->system;
    rung_free(q);
    rung_free(p);
    assert_int_equal(a->system, system);
    assert_sound();
}

/* A request that no window holds gets a mapping, whatever the threshold says. */
static void test_larger_than_a_window(void **state) {
    (void)state;
    secondary();
    assume(OPT_MMAP_THRESHOLD, SIZE_MAX);
    void *p = rung_malloc(65 << 20);
    assert_non_null(p);
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 1);
    assert_sound();
    rung_free(p);
    assert_sound();
}

static void test_calloc_in_a_window(void **state) {
    (void)state;
    struct arena *a = secondary();
    for (int round = 0; round < 3; round++) {
        unsigned char *p = rung_calloc(100000, 1), *q = rung_calloc(120000, 1);
        for (size_t i = 0; i < 100000; i++)
            assert_int_equal(p[i] | q[i], 0);
        memset(p, 0xff, 100000);
        memset(q, 0xff, 120000);
        rung_free(q);
        rung_free(p);
        rung_malloc_trim(0);
        assert_sound();
    }
    assert_int_equal(windows(a), 1);
}

/* A window is dropped, and the end of the one before is top again: it is not fresh memory. */
static void test_calloc_after_a_dropped_window(void **state) {
    (void)state;
    struct arena *a = secondary();
    assume(OPT_MMAP_MAX, 0);
    unsigned char *p = rung_malloc(60 << 20);
    unsigned char *end = rung_malloc(1 << 20);
    memset(end, 0xff, 1 << 20);
    void *q = rung_malloc(10 << 20);
    assert_int_equal(windows(a), 2);
    rung_free(end);
    rung_free(q);
    assert_int_equal(windows(a), 1);
    unsigned char *zero = rung_calloc(2 << 20, 1);
    assert_true((uintptr_t)zero > (uintptr_t)p);
    for (size_t i = 0; i < 2 << 20; i++)
        if (zero[i] != 0)
            fail_msg("byte %zu of a calloc is 0x%02x", i, zero[i]);
    assert_sound();
}

static void test_larger_pages(void **state) {
    (void)state;
    struct os_facts facts = os_facts;
    facts.page = 65536;
    double_set_facts(&facts);
    struct arena *a = secondary();
    assert_int_equal(a->system, 196608);
    void *some[300];
    for (int round = 0; round < 2; round++) {
        take(some, 300, 5000);
        assert_int_equal(a->system % 65536, 0);
        assert_sound();
        give(some, 300);
        assert_sound();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sixty_four_pages),
        cmocka_unit_test(test_growth_is_by_the_page),
        cmocka_unit_test(test_two_windows),
        cmocka_unit_test(test_fenceposts),
        cmocka_unit_test(test_small_rests_before_the_fenceposts),
        cmocka_unit_test(test_a_window_in_use_stays),
        cmocka_unit_test(test_trim_keeps_the_pad),
        cmocka_unit_test(test_larger_than_a_window),
        cmocka_unit_test(test_calloc_in_a_window),
        cmocka_unit_test(test_calloc_after_a_dropped_window),
        cmocka_unit_test(test_larger_pages),
    };
    return UNIT_RUN(tests);
}
