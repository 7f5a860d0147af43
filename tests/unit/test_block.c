/* Large blocks without headers: whole pages of windows, and the ones that a thread's cache keeps. */
#include "runs/block.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cache/cpu_cache.h"
#include "runs/run.h"
#include "runs/space.h"
#include "spans.h"

#define PAGE (os_facts.page)

static void begin(void) {
    assume(OPT_RUNS, 1);
    assume(OPT_RUN_BLOCK_MAX, BLOCK_MAX);
}

static size_t pages_for(size_t req) {
    return align_up(req, PAGE);
}

static bool is_block(const void *p) {
    return in_run_window(p) && run_bin_of(p) == SLOT_PAGES;
}

/* ---- blocks themselves ---- */

static void test_take_and_give(void **state) {
    (void)state;
    bool zero;
    static const size_t sizes[] = {1, 4096, 4097, 33000, 65536, 300000, 1 << 20, 5000001, BLOCK_MAX - 1, BLOCK_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *p = block_take(sizes[i], 16, &zero);
        assert_true(ptr_is_aligned(p, PAGE) && is_block(p));
        assert_int_equal(block_size(p), pages_for(sizes[i]));
        assert_int_equal(headless_size(p), pages_for(sizes[i]));
        assert_false(headless_is_free(p));
        assert_int_equal(space_totals.in_use, pages_for(sizes[i]));
        p[0] = p[pages_for(sizes[i]) - 1] = 1;
        assert_sound();
        assert_true(block_give(p));
        assert_int_equal(block_size(p), 0);
        assert_true(headless_is_free(p));
        assert_false(block_give(p));
        assert_int_equal(space_totals.in_use, 0);
        assert_sound();
    }
    assert_int_equal(space_totals.windows, 1);
    assert_null(block_take(BLOCK_MAX + 1, 16, &zero));
    assert_null(block_take(PAGE, 2 * BLOCK_MAX, &zero));
}

/* Nothing but its start is a block. */
static void test_interior_pointers(void **state) {
    (void)state;
    bool zero;
    char *p = block_take(4 * PAGE, 16, &zero);
    for (size_t at = 1; at < 4 * PAGE; at += at < 64 ? 1 : 61) {
        assert_int_equal(block_size(p + at), 0);
        assert_false(block_give(p + at));
        assert_false(block_mark(p + at));
    }
    for (size_t at = PAGE; at < 4 * PAGE; at += PAGE) {
        assert_int_equal(block_size(p + at), 0);
        assert_false(block_give(p + at));
    }
    char *head = window_of(p);
    for (size_t at = 0; at < HEAD_RUNS * RUN_SIZE; at += PAGE) {
        assert_int_equal(headless_size(head + at), 0);
        assert_false(headless_is_free(head + at));
    }
    assert_int_equal(block_size(p), 4 * PAGE);
    assert_sound();
}

static void test_marks(void **state) {
    (void)state;
    bool zero;
    char *p = block_take(3 * PAGE, 16, &zero);
    assert_true(block_mark(p));
    assert_false(block_mark(p));
    assert_false(block_give(p));
    assert_int_equal(block_size(p), 0);
    assert_int_equal(headless_size(p), 0);
    assert_true(headless_is_free(p));
    block_unmark(p);
    assert_int_equal(block_size(p), 3 * PAGE);
    assert_false(headless_is_free(p));
    assert_true(block_mark(p));
    block_give_marked(p);
    assert_int_equal(block_size(p), 0);
    assert_false(block_mark(p));
    assert_int_equal(space_totals.in_use, 0);
    assert_sound();
}

static void test_resize(void **state) {
    (void)state;
    bool zero;
    char *p = block_take(10 * PAGE, 16, &zero);
    for (size_t i = 0; i < 10; i++)
        p[i * PAGE] = (char)i;
    assert_true(block_resize(p, 10 * PAGE - 1));
    assert_int_equal(block_size(p), 10 * PAGE);
    assert_true(block_resize(p, 3 * PAGE + 1));
    assert_int_equal(block_size(p), 4 * PAGE);
    assert_int_equal(space_totals.in_use, 4 * PAGE);
    char *next = block_take(PAGE, 16, &zero);
    assert_ptr_equal(next, p + 4 * PAGE);
    assert_false(block_resize(p, 5 * PAGE));
    assert_int_equal(block_size(p), 4 * PAGE);
    assert_true(block_give(next));
    assert_true(block_resize(p, BLOCK_MAX));
    assert_int_equal(space_totals.in_use, BLOCK_MAX);
    p[BLOCK_MAX - 1] = 1;
    assert_false(block_resize(p, BLOCK_MAX + 1));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(p[i * PAGE], i);
    assert_sound();
    assert_true(block_resize(p, 1));
    assert_int_equal(space_totals.in_use, PAGE);
    assert_true(block_give(p));
    assert_sound();
}

/* Each part that was cut off is found again, and nothing of the rest is given away with it. */
static void test_resize_at_random(void **state) {
    (void)state;
    enum { N = 30 };
    struct {
        unsigned char *p;
        size_t size;
    } b[N] = {{0}};
    uint64_t seed = 5;
    bool zero;
    printf("seed 5\n");
    for (int i = 0; i < 4000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t k = (seed >> 33) % N;
        size_t size = 1 + (seed >> 40) % (24 * PAGE);
        if (b[k].p == NULL) {
            b[k].p = block_take(size, 16, &zero);
            assert_non_null(b[k].p);
        } else {
            assert_int_equal(b[k].p[0] + b[k].p[b[k].size - 1], 2 * (k + 1));
            if (size % 4 == 0) {
                assert_true(block_give(b[k].p));
                b[k].p = NULL;
                continue;
            }
            if (!block_resize(b[k].p, size)) {
                assert_true(pages_for(size) > b[k].size);
                size = b[k].size;
            }
            assert_int_equal(b[k].p[0], k + 1);
        }
        b[k].size = pages_for(size);
        assert_int_equal(block_size(b[k].p), b[k].size);
        memset(b[k].p, (int)(k + 1), b[k].size);
        if (i % 100 == 0)
            assert_sound();
    }
    for (size_t k = 0; k < N; k++)
        assert_true(b[k].p == NULL || block_give(b[k].p));
    assert_int_equal(space_totals.in_use, 0);
    assert_sound();
}

static void test_no_memory(void **state) {
    (void)state;
    bool zero;
    char *p = block_take(2 * PAGE, 16, &zero);
    double_fail(1, SIZE_MAX);
    assert_null(block_take(4 * MIB, 16, &zero));
    assert_false(block_resize(p, 4 * MIB));
    assert_int_equal(block_size(p), 2 * PAGE);
    assert_true(block_resize(p, PAGE));
    double_heal();
    assert_int_equal(rung_heap_check(), 0);
}

/* ---- as the program sees them ---- */

static void test_usable_sizes(void **state) {
    (void)state;
    begin();
    for (size_t size = RUN_MAX + 1; size <= BLOCK_MAX; size += size / 7 + 1) {
        unsigned char *p = rung_malloc(size);
        assert_true(is_block(p));
        size_t usable = rung_malloc_usable_size(p);
        assert_true(usable >= size && usable % PAGE == 0);
        if (size > BLOCK_BIN_MAX)
            assert_int_equal(usable, pages_for(size));
        else if (PAGE == 4 * KIB) /* no more than a ninth is lost, and a page */
            assert_true((usable - size) * 9 <= usable + 9 * PAGE);
        p[0] = p[usable - 1] = 1;
        rung_free(p);
    }
    void *p = rung_malloc(BLOCK_MAX + 1);
    assert_false(in_run_window(p));
    rung_free(p);
    assume(OPT_RUN_BLOCK_MAX, 100000);
    p = rung_malloc(100001);
    assert_false(in_run_window(p));
    rung_free(p);
    assert_sound();
}

static void test_alignment(void **state) {
    (void)state;
    begin();
    static const size_t sizes[] = {1, 4097, 33000, 100000, 1 << 20, 3 << 20};
    for (size_t align = 4096; align <= BLOCK_MAX; align *= 2)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            char *p = rung_memalign(align, sizes[i]);
            assert_true(ptr_is_aligned(p, align) && in_run_window(p));
            assert_true(rung_malloc_usable_size(p) >= sizes[i]);
            memset(p, 1, sizes[i]);
            char *q = rung_memalign(align, sizes[i]);
            assert_true(ptr_is_aligned(q, align) && (q >= p + sizes[i] || q + sizes[i] <= p));
            memset(q, 2, sizes[i]);
            assert_int_equal(p[0] + p[sizes[i] - 1], 2);
            rung_free(p);
            rung_free(q);
        }
    char *p = rung_memalign(2 * BLOCK_MAX, 100);
    assert_true(ptr_is_aligned(p, 2 * BLOCK_MAX));
    assert_false(in_run_window(p));
    rung_free(p);
    assert_sound();
}

static void test_realloc_of_blocks(void **state) {
    (void)state;
    begin();
    unsigned char *p = rung_malloc(300000);
    memset(p, 0x42, 300000);
    unsigned char *longer = rung_realloc(p, 4 << 20);
    assert_ptr_equal(longer, p); /* nothing lies behind it */
    assert_int_equal(longer[299999], 0x42);
    assert_int_equal(rung_malloc_usable_size(p), 4 << 20);
    unsigned char *shorter = rung_realloc(p, 1 << 20);
    assert_ptr_equal(shorter, p);
    assert_int_equal(rung_malloc_usable_size(p), 1 << 20);
    void *behind = rung_malloc(300000);
    assert_ptr_equal(behind, p + (1 << 20));
    unsigned char *moved = rung_realloc(p, 2 << 20);
    assert_ptr_not_equal(moved, p);
    assert_true(is_block(moved));
    assert_int_equal(moved[0] + moved[299999], 2 * 0x42);
    unsigned char *mapped = rung_realloc(moved, BLOCK_MAX + 4096);
    assert_false(in_run_window(mapped));
    assert_int_equal(mapped[299999], 0x42);
    rung_free(mapped);
    memset(behind, 0x43, 300000);
    unsigned char *object = rung_realloc(behind, 5000);
    assert_true(in_run_window(object) && !is_block(object));
    assert_int_equal(object[0] + object[4999], 2 * 0x43);
    unsigned char *again = rung_realloc(object, 50000);
    assert_true(is_block(again));
    assert_int_equal(again[0] + again[4999], 2 * 0x43);
    rung_free(again);
    assert_sound();
}

static void test_realloc_without_memory(void **state) {
    (void)state;
    begin();
    unsigned char *p = rung_malloc(300000);
    void *behind = rung_malloc(300000);
    memset(p, 0x42, 300000);
    double_fail(1, SIZE_MAX);
    errno = 0;
    assert_null(rung_realloc(p, 20 << 20));
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(p[0] + p[299999], 2 * 0x42);
    double_heal();
    rung_free(p);
    rung_free(behind);
    assert_int_equal(rung_heap_check(), 0);
}

/* ---- blocks in a thread's cache ---- */

static void test_the_cache_keeps_some(void **state) {
    (void)state;
    begin();
    void *held[BLOCK_BINS];
    assume(OPT_TCACHE_BUDGET, 64 * MIB);
    for (unsigned bin = 0; bin < BLOCK_BINS; bin++) {
        size_t size = block_bin_size(bin);
        assert_int_equal(block_bin_of_request(size), bin);
        assert_int_equal(block_bin_of_request(bin > 0 ? block_bin_size(bin - 1) + 1 : RUN_MAX + 1), bin);
        char *p = rung_malloc(size - 100);
        held[bin] = rung_malloc(PAGE); /* else free memory might do for the same place */
        size_t usable = rung_malloc_usable_size(p);
        size_t in_use = space_totals.in_use;
        assert_true(usable >= size);
        memset(p, 0x55, usable);
        rung_free(p);
        assert_int_equal(space_totals.in_use, in_use);
        assert_true(headless_is_free(p));
        assert_ptr_equal(rung_malloc(size - 100), p);
        assert_int_equal(space_totals.in_use, in_use);
        assert_int_equal(rung_malloc_usable_size(p), usable);
        assert_int_equal(p[usable - 1], 0x55); /* nothing is written in it */
        rung_free(p);
        p = rung_calloc(1, size);
        for (size_t i = 0; i < size; i++)
            if (p[i] != 0)
                fail_msg("byte %zu of %zu is not zero", i, size);
        rung_free(p);
        assert_sound();
    }
    give(held, BLOCK_BINS);
    caches_empty_here();
    struct runs_totals t;
    runs_count(&t);
    assert_int_equal(space_totals.in_use, t.used);
    assert_sound();
}

/* One that was cut to no size of the cache goes home, and so does one that is too large for it. */
static void test_the_cache_does_not_keep_others(void **state) {
    (void)state;
    begin();
    void *first = rung_malloc(RUN_MAX + 1);
    size_t before = space_totals.in_use;
    void *p = rung_malloc(BLOCK_BIN_MAX + 1);
    rung_free(p);
    assert_int_equal(space_totals.in_use, before);
    p = rung_malloc(256 * KIB);
    assert_ptr_equal(rung_realloc(p, 100 * KIB), p);
    assert_int_equal(block_size(p), pages_for(100 * KIB));
    bool is_class = block_bin_size(block_bin_of_request(block_size(p))) == block_size(p);
    rung_free(p);
    if (!is_class)
        assert_int_equal(space_totals.in_use, before);
    rung_free(first);
    assert_sound();
}

static void test_the_cache_is_bounded(void **state) {
    (void)state;
    enum { N = 200 };
    void *p[N];
    begin();
    for (size_t size = 40000; size <= 256 * KIB; size *= 2) {
        take(p, N, size);
        give(p, N);
        assert_true(cache_numbered(cache_number())->spent[1] <= option(OPT_TCACHE_BUDGET));
        assert_true(space_totals.in_use <= 2 * option(OPT_TCACHE_BUDGET));
        assert_sound();
    }
}

static void use_a_block(void *at) {
    *(void **)at = rung_malloc(100000);
    rung_free(*(void **)at);
}

/* A thread that ends leaves none behind. */
static void test_a_thread_ends(void **state) {
    (void)state;
    begin();
    void *p;
    in_thread(use_a_block, &p);
    assert_int_equal(block_size(p), 0);
    assert_true(bit_get(((struct run_window *)window_of(p))->free, page_number(p)));
    struct runs_totals t;
    runs_count(&t);
    assert_int_equal(space_totals.in_use, t.used);
    assert_sound();
}

/* ---- misuse ---- */

static char *block;
static size_t bytes;

static void free_twice(void) {
    rung_free(block);
    rung_free(block);
}
static void free_twice_with_others_between(void) {
    rung_free(block);
    void *p[50];
    take(p, 50, bytes + 8 * MIB / 50);
    give(p, 50);
    rung_free(block);
}
static void free_it(void *p) {
    rung_free(p);
}
static void free_in_another_thread_again(void) {
    rung_free(block);
    in_thread(free_it, block);
}
static void free_again_what_another_thread_freed(void) {
    in_thread(free_it, block);
    rung_free(block);
}
static void free_after_a_cache_has_let_it_go(void) {
    rung_free(block);
    caches_empty_here();
    rung_free(block);
}
static void free_a_page_of_it(void) {
    rung_free(block + PAGE);
}
static void free_16_bytes_in(void) {
    rung_free(block + 16);
}
static void free_8_bytes_in(void) {
    rung_free(block + 8);
}
static void free_the_head(void) {
    rung_free((char *)window_of(block) + 4 * PAGE);
}
static void realloc_what_is_free(void) {
    rung_free(block);
    (void)!rung_realloc(block, 50);
}
static void realloc_a_page_of_it(void) {
    (void)!rung_realloc(block + PAGE, 2 * bytes);
}
static void free_the_end_that_was_cut_off(void) {
    block = rung_realloc(block, bytes / 2);
    rung_free(block + bytes - PAGE);
}

static void test_misuse(void **state) {
    (void)state;
    begin();
    static const char double_free[] = "free(): double free detected in tcache 2\n";
    const size_t sizes[] = {40 * KIB, 128 * KIB, 256 * KIB, 257 * KIB, MIB, 20 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        block = rung_malloc(sizes[i]);
        bytes = rung_malloc_usable_size(block);
        void *behind = rung_malloc(300000);
        assert_dies(free_twice, double_free);
        assert_dies(free_twice_with_others_between, double_free);
        assert_dies(free_in_another_thread_again, double_free);
        assert_dies(free_again_what_another_thread_freed, double_free);
        assert_dies(free_after_a_cache_has_let_it_go, double_free);
        assert_dies(free_16_bytes_in, "free(): invalid pointer\n");
        assert_dies(free_8_bytes_in, "free(): invalid pointer\n");
        assert_dies(free_the_head, "free(): invalid pointer\n");
        assert_dies(realloc_what_is_free, "realloc(): invalid pointer\n");
        if (bytes > 3 * PAGE) {
            assert_dies(free_a_page_of_it, "free(): invalid pointer\n");
            assert_dies(realloc_a_page_of_it, "realloc(): invalid pointer\n");
        }
        if (bytes / 2 > RUN_MAX)
            assert_dies(free_the_end_that_was_cut_off, double_free);
        rung_free(block);
        rung_free(behind);
    }
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_EACH_PAGE_SIZE(test_take_and_give),
        ON_EACH_PAGE_SIZE(test_interior_pointers),
        ON_EACH_PAGE_SIZE(test_marks),
        ON_EACH_PAGE_SIZE(test_resize),
        ON_EACH_PAGE_SIZE(test_resize_at_random),
        ON_EACH_PAGE_SIZE(test_no_memory),
        ON_EACH_PAGE_SIZE(test_usable_sizes),
        ON_EACH_PAGE_SIZE(test_alignment),
        ON_EACH_PAGE_SIZE(test_realloc_of_blocks),
        ON_EACH_PAGE_SIZE(test_realloc_without_memory),
        ON_EACH_PAGE_SIZE(test_the_cache_keeps_some),
        ON_EACH_PAGE_SIZE(test_the_cache_does_not_keep_others),
        ON_EACH_PAGE_SIZE(test_the_cache_is_bounded),
        ON_EACH_PAGE_SIZE(test_a_thread_ends),
        ON_EACH_PAGE_SIZE(test_misuse),
    };
    return UNIT_RUN(tests);
}
