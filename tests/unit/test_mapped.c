/* Chunks with a mapping of their own (rows D2, D3, D8). */
#include <errno.h>
#include <string.h>

#include "arena/mapped.h"
#include "base/counter.h"
#include "options/threshold.h"
#include "unit.h"

/* GROUND: 200000 takes 49 pages, a chunk of 200688, usable 200680, 16 past a page, flags 2. */
static void test_layout(void **state) {
    (void)state;
    char *p = rung_malloc(200000);
    assert_int_equal((uintptr_t)p % 4096, 16);
    assert_int_equal(chunk_head(chunk_of_mem(p)), 200688 | IS_MAPPED);
    assert_int_equal(rung_malloc_usable_size(p), 200680);
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 1);
    assert_int_equal(counter_get(COUNT_MAPPED_BYTES), 49 * 4096);
    memset(p, 1, 200680);
    assert_sound();
    rung_free(p);
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 0);
    assert_int_equal(double_accessible(), 0);
}

/* Row D2: the threshold is asked only when bins and top have failed. */
static void test_threshold_is_asked_last(void **state) {
    (void)state;
    without_cache();
    /* A fresh process: 120K grows the arena to 252K, and 130K fits in top. */
    assert_non_null(rung_malloc(120 * 1024));
    assert_int_equal(main_arena.system, 252 * 1024);
    assert_non_null(rung_malloc(130 * 1024));
    assert_int_equal(double_calls(VERB_MAP), 0);
    assert_non_null(rung_malloc(130 * 1024));
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 1);
    assert_sound();
}

static void test_threshold_with_an_existing_heap(void **state) {
    (void)state;
    assert_non_null(rung_malloc(16));
    assert_non_null(rung_malloc(120 * 1024));
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 0);
    assert_non_null(rung_malloc(130 * 1024));
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 1);
}

static void test_edge_of_the_threshold(void **state) {
    (void)state;
    assert_false(mapped_wanted(131056));
    assert_true(mapped_wanted(131072));
    rung_malloc(131056); /* a chunk of 131072 */
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 1);
    rung_malloc(131048);
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 1);
}

static void test_most_mapped_chunks(void **state) {
    (void)state;
    assume(OPT_MMAP_MAX, 3);
    void *blocks[5];
    take(blocks, 5, 1 << 20);
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 3);
    assert_true(main_arena.system > 2 << 20);
    rung_free(blocks[0]);
    take(blocks, 1, 8 << 20);
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 3);
    assert_sound();
    give(blocks, 5);
    assert_sound();
}

static void test_no_mapped_chunks(void **state) {
    (void)state;
    assume(OPT_MMAP_MAX, 0);
    void *p = rung_malloc(8 << 20);
    assert_non_null(p);
    assert_int_equal(double_calls(VERB_MAP), 0);
    assert_sound();
}

/* Row D3: freeing raises both thresholds, and setting one of four options ends that. */
static void test_freeing_raises_the_thresholds(void **state) {
    (void)state;
    rung_free(rung_malloc(1 << 20));
    size_t csz = (1 << 20) + 4096 - 16; /* the chunk, not the request */
    assert_int_equal(option(OPT_MMAP_THRESHOLD), csz);
    assert_int_equal(option(OPT_TRIM_THRESHOLD), 2 * csz);
    void *p = rung_malloc(1 << 20); /* now below */
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 0);
    rung_free(p);
    assert_true(top_size(&main_arena) > 1 << 20); /* and not trimmed */
    rung_free(rung_malloc(33 << 20)); /* above 32 MiB: too large to learn from */
    assert_int_equal(option(OPT_MMAP_THRESHOLD), csz);
    rung_free(rung_malloc((32 << 20) - 4096));
    assert_int_equal(option(OPT_MMAP_THRESHOLD), (32 << 20) - 16);
    assert_sound();
}

static void test_a_set_option_ends_the_adaptation(void **state) {
    (void)state;
    const int parameters[] = {M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX};
    for (size_t i = 0; i < 4; i++) {
        option_use_profile(PROFILE_GLIBC);
        rung_mallopt(parameters[i], 65536);
        size_t threshold = option(OPT_MMAP_THRESHOLD);
        void *p = rung_malloc(20 << 20);
        assert_true(is_mapped(chunk_of_mem(p)));
        rung_free(p);
        assert_int_equal(option(OPT_MMAP_THRESHOLD), threshold);
    }
}

/* Row N4: in time they fall, and a block of that size is mapped again. */
static void test_the_thresholds_fall(void **state) {
    (void)state;
    assume(OPT_THRESHOLD_DECAY, 10000);
    double_clock_advance(0);
    rung_free(rung_malloc(1 << 20));
    for (int i = 0; i < 30; i++) { /* blocks of an arena keep them up */
        double_clock_advance(5000000);
        void *p = rung_malloc(1 << 20);
        assert_false(is_mapped(chunk_of_mem(p)));
        rung_free(p);
    }
    for (int i = 0; i < 30; i++) {
        double_clock_advance(5000000);
        rung_free(rung_malloc(100000)); /* these do as far as twice their size */
    }
    assert_in_range(option(OPT_MMAP_THRESHOLD), 131072, 200000);
    assert_in_range(option(OPT_TRIM_THRESHOLD), 131072, 400000);
    rung_malloc_trim(0);
    assert_true(is_mapped(chunk_of_mem(rung_malloc(1 << 20))));
    assert_sound();
}

/* Row D8. */
static void test_realloc_remaps(void **state) {
    (void)state;
    unsigned char *p = rung_malloc(200000);
    memset(p, 0x5a, 200000);
    double_count_from_here();
    p = rung_realloc(p, 4000000);
    assert_int_equal(double_calls(VERB_REMAP), 1);
    assert_int_equal(double_calls(VERB_MAP), 0);
    for (size_t i = 0; i < 200000; i++)
        assert_int_equal(p[i], 0x5a);
    assert_sound();
    p = rung_realloc(p, 200000);
    assert_int_equal(double_calls(VERB_REMAP), 2);
    assert_int_equal(chunk_bytes(p), 200688);
    assert_int_equal(counter_get(COUNT_MAPPED_BYTES), 49 * 4096);
    assert_int_equal(counter_get(COUNT_MAPPED_BYTES_MAX), (4000000 + 24 + 4095) / 4096 * 4096);
    assert_ptr_equal(rung_realloc(p, 200600), p); /* the same pages: no call */
    assert_int_equal(double_calls(VERB_REMAP), 2);
    assert_sound();
}

static void test_refused_remap(void **state) {
    (void)state;
    unsigned char *p = rung_malloc(400000);
    memset(p, 0x5a, 400000);
    double_fail_verb(VERB_REMAP);
    assert_ptr_equal(rung_realloc(p, 200000), p); /* a smaller one just stays */
    unsigned char *q = rung_realloc(p, 800000);   /* a larger one is copied */
    assert_non_null(q);
    for (size_t i = 0; i < 200000; i++)
        assert_int_equal(q[i], 0x5a);
    assert_sound();
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 1);
}

static void test_alignment(void **state) {
    (void)state;
    for (size_t align = 32; align <= 8 << 20; align *= 2) {
        struct chunk *c = mapped_alloc(200000, align);
        assert_non_null(c);
        char *mem = mem_of_chunk(c);
        assert_int_equal((uintptr_t)mem % align, 0);
        assert_true(chunk_size(c) >= 200000);
        assert_true(mapped_plausible(c));
        memset(mem, 1, usable_of_chunk_size(chunk_size(c)));
        assert_int_equal(mapped_total(c), counter_get(COUNT_MAPPED_BYTES));
        assert_sound();
        mapped_free(c);
        assert_int_equal(double_accessible(), 0);
    }
}

static void test_absurd_sizes(void **state) {
    (void)state;
    assert_null(mapped_alloc(SIZE_MAX - 15, ALIGNMENT));
    assert_null(mapped_alloc(REQUEST_MAX - 4096, (size_t)1 << 62));
    struct chunk *c = mapped_alloc(4096, ALIGNMENT);
    assert_null(mapped_resize(c, REQUEST_MAX));
    assert_null(mapped_resize(c, SIZE_MAX - 15));
    assert_sound();
}

/* The kernel may refuse to unmap: the pages go at once, the range when it can. */
static void test_refused_unmap(void **state) {
    (void)state;
    void *p = rung_malloc(1 << 20);
    double_fail_verb(VERB_UNMAP);
    double_count_from_here();
    rung_free(p);
    assert_int_equal(double_calls(VERB_PURGE), 1);
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 0);
    assert_int_equal(double_accessible(), (1 << 20) + 4096);
    assert_int_equal(double_refused(), double_accessible());
    double_heal();
    void *other = rung_malloc(4 << 20);
    assert_int_equal(double_refused(), 0);
    assert_sound();
    rung_free(other);
    assert_int_equal(double_accessible(), 0);
}

/* Many of them do not make every later call slow. */
static void test_many_refused_unmaps(void **state) {
    (void)state;
    void *blocks[50];
    assume(OPT_MMAP_THRESHOLD, 0);
    assume(OPT_TCACHE_COUNT, 0);
    take(blocks, 50, 100000);
    double_fail_verb(VERB_UNMAP);
    double_count_from_here();
    give(blocks, 50);
    assert_int_equal(double_calls(VERB_UNMAP), 50);
    assert_int_equal(double_calls(VERB_PURGE), 50);
    double_count_from_here();
    void *p = rung_malloc(50 << 20);
    assert_true(double_calls(VERB_UNMAP) <= 1);
    double_heal();
    rung_free(p);
    assert_int_equal(double_refused(), 0);
    assert_sound();
}

static void test_last_resort(void **state) {
    (void)state;
    /* No break, no stand-in larger than what is left, no window: a mapping, below the threshold. */
    double_fail_verb(VERB_RESERVE);
    double_fail_verb(VERB_BREAK);
    double_limit(8192);
    void *p = rung_malloc(100);
    assert_non_null(p);
    double_limit(SIZE_MAX);
    double_heal();
    assert_int_equal(rung_heap_check(), 0);
}

static void test_larger_pages(void **state) {
    (void)state;
    for (size_t page = 16384; page <= 65536; page *= 4) {
        struct os_facts facts = os_facts;
        facts.page = page;
        double_set_facts(&facts);
        assume(OPT_MMAP_THRESHOLD, 131072);
        char *p = rung_malloc(400000);
        assert_int_equal((uintptr_t)p % page, 16);
        assert_int_equal(chunk_bytes(p) % page, page - 16);
        p = rung_realloc(p, 900000);
        assert_int_equal((uintptr_t)p % page, 16);
        memset(p, 1, 900000);
        assert_sound();
        rung_free(p);
        assert_int_equal(double_accessible(), 0);
    }
}

static void test_zero(void **state) {
    (void)state;
    unsigned char *p = rung_calloc(1, 300000);
    for (size_t i = 0; i < rung_malloc_usable_size(p); i++)
        assert_int_equal(p[i], 0);
}

static void test_names(void **state) {
    (void)state;
    rung_malloc(1 << 20);
    assert_int_equal(double_calls(VERB_NAME), 0); /* a call a block is too much for the default */
    assume(OPT_DECORATE_MAPS, 2);
    rung_malloc(1 << 20);
    assert_int_equal(double_calls(VERB_NAME), 1);
}

static void free_implausible(void) {
    char *p = rung_malloc(200000);
    struct chunk *c = chunk_of_mem(p);
    c->foot += 16;
    rung_free(p);
}

static void resize_implausible(void) {
    char *p = rung_malloc(200000);
    chunk_set_head(chunk_of_mem(p), (200688 + 32) | IS_MAPPED);
    rung_realloc(p, 400000);
}

static void test_implausible(void **state) {
    (void)state;
    assert_dies(free_implausible, "munmap_chunk(): invalid pointer\n");
    assert_dies(resize_implausible, "mremap_chunk(): invalid pointer\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_threshold_is_asked_last),
        cmocka_unit_test(test_threshold_with_an_existing_heap),
        cmocka_unit_test(test_edge_of_the_threshold),
        cmocka_unit_test(test_most_mapped_chunks),
        cmocka_unit_test(test_no_mapped_chunks),
        cmocka_unit_test(test_freeing_raises_the_thresholds),
        cmocka_unit_test(test_a_set_option_ends_the_adaptation),
        cmocka_unit_test(test_the_thresholds_fall),
        cmocka_unit_test(test_realloc_remaps),
        cmocka_unit_test(test_refused_remap),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_absurd_sizes),
        cmocka_unit_test(test_refused_unmap),
        cmocka_unit_test(test_many_refused_unmaps),
        cmocka_unit_test(test_last_resort),
        cmocka_unit_test(test_larger_pages),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_implausible),
    };
    return UNIT_RUN(tests);
}
