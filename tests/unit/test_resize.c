/* realloc of blocks in a heap (row D8). */
#include <errno.h>
#include <string.h>

#include "arena/resize.h"
#include "unit.h"

static unsigned char *filled(size_t size) {
    unsigned char *p = rung_malloc(size);
    assert_non_null(p);
    for (size_t i = 0; i < size; i++)
        p[i] = (unsigned char)(i * 31);
    return p;
}

static void assert_filled(const unsigned char *p, size_t size) {
    for (size_t i = 0; i < size; i++)
        assert_int_equal(p[i], (unsigned char)(i * 31));
}

static void test_into_top(void **state) {
    (void)state;
    without_cache();
    unsigned char *p = filled(100);
    for (size_t size = 200; size < 100000; size = size * 3 / 2) {
        assert_ptr_equal(rung_realloc(p, size), p);
        assert_true(chunk_bytes(p) - 8 >= size);
        assert_sound();
    }
    assert_filled(p, 100);
}

static int moves; /* of a block that grew */

static unsigned char *grow(unsigned char *p, size_t size) {
    unsigned char *q = rung_realloc(p, size);
    assert_non_null(q);
    moves += q != p;
    return q;
}

/* The block at the end of the heap grows past all that top has: what top grows by becomes a part of it, and
   nothing is copied, in the main arena (with its break, or a mapping that continues nothing) and in others. */
static void grow_at_the_end(void *unused) {
    (void)unused;
    assume(OPT_MMAP_THRESHOLD, 32 * MIB);
    assume(OPT_TOP_PAD, 0);
    unsigned char *p = filled(100);
    for (size_t size = 200; size < 16 * MIB; size = size * 3 / 2) {
        p = grow(p, size);
        assert_true(chunk_bytes(p) >= size + 8 && chunk_bytes(p) < size + 64);
        assert_sound();
    }
    assert_filled(p, 100);
    rung_free(p);
    assert_sound();
}

static void test_beyond_top(void **state) {
    (void)state;
    without_cache();
    grow_at_the_end(NULL);
    assert_int_equal(moves, 0);
}

static void test_beyond_top_of_a_secondary_arena(void **state) {
    (void)state;
    in_thread(grow_at_the_end, NULL);
    assert_int_equal(moves, 0);
}

/* A break that is blocked: the chunk from the stand-in does not lie behind the block, which is copied, once. */
static void test_beyond_a_blocked_top(void **state) {
    (void)state;
    without_cache();
    assume(OPT_MMAP_THRESHOLD, 32 * MIB);
    unsigned char *p = filled(100000);
    double_fail_verb(VERB_BREAK);
    p = grow(p, 300000);
    assert_int_equal(moves, 1);
    assert_filled(p, 100000);
    assert_sound();
}

/* The new chunk comes from the block's arena and the old one goes there; the cache is not asked. */
static void test_past_the_cache(void **state) {
    (void)state;
    unsigned char *p = filled(100);
    void *behind = rung_malloc(16), *cached = rung_malloc(500);
    assert_non_null(behind);
    rung_free(cached);
    unsigned char *q = rung_realloc(p, 500);
    assert_ptr_not_equal(q, p);
    assert_ptr_not_equal(q, cached);
    assert_filled(q, 100);
    assert_ptr_equal(rung_malloc(500), cached);
    assert_ptr_equal(rung_malloc(90), p); /* from its bin, since it is in no cache: */
    void *other = rung_malloc(90);
    assert_ptr_not_equal(other, p);
    assert_sound();
}

/* What is new is filled for debugging, what was there is not. */
static void test_filled_for_debugging(void **state) {
    (void)state;
    assume(OPT_PERTURB, 0x5a);
    assume(OPT_MMAP_THRESHOLD, 32 * MIB);
    unsigned char *p = filled(200);
    for (size_t size = 1000; size < 4 * MIB; size *= 40) {
        assert_non_null(rung_malloc(size)); /* so that it has to move */
        p = rung_realloc(p, size);
        assert_filled(p, 200);
        assert_int_equal(p[size - 1], 0xa5);
    }
    assert_sound();
}

static void test_into_a_free_neighbour(void **state) {
    (void)state;
    without_cache();
    unsigned char *p = filled(1000);
    void *next = rung_malloc(1000), *behind = rung_malloc(1000);
    rung_free(next);
    assert_ptr_equal(rung_realloc(p, 1500), p); /* splits it */
    assert_int_equal(chunk_bytes(p), 1520);
    assert_sound();
    assert_ptr_equal(rung_realloc(p, 2008), p); /* takes it whole */
    assert_int_equal(chunk_bytes(p), 2016);
    assert_sound();
    unsigned char *q = rung_realloc(p, 2100); /* no more room: moves */
    assert_ptr_not_equal(q, p);
    assert_filled(q, 1000);
    assert_non_null(behind);
    assert_sound();
}

static void test_shrinking_frees_the_rest(void **state) {
    (void)state;
    without_cache();
    unsigned char *p = filled(4000);
    void *behind = rung_malloc(16);
    assert_ptr_equal(rung_realloc(p, 1000), p);
    assert_int_equal(chunk_bytes(p), 1008);
    assert_sound();
    assert_ptr_equal(rung_malloc(2900), p + 1008); /* the rest is a block */
    assert_ptr_equal(rung_realloc(p, 980), p);     /* a rest of 16 cannot be one */
    assert_int_equal(chunk_bytes(p), 1008);
    assert_filled(p, 980);
    assert_non_null(behind);
    assert_sound();
}

/* Up to the usable size nothing moves and nothing changes. */
static void test_up_to_the_usable_size(void **state) {
    (void)state;
    for (size_t size = 1; size < 3000; size += 97) {
        unsigned char *p = filled(size);
        size_t usable = rung_malloc_usable_size(p);
        assert_ptr_equal(rung_realloc(p, usable), p);
        assert_int_equal(rung_malloc_usable_size(p), usable);
        assert_filled(p, size);
        rung_free(p);
    }
    assert_sound();
}

static void test_every_pair_of_sizes(void **state) {
    (void)state;
    const size_t sizes[] = {1, 24, 25, 100, 1000, 1032, 1033, 5000, 70000, 140000, 1000000};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < COUNT; k++) {
            unsigned char *p = filled(sizes[i]);
            unsigned char *q = rung_realloc(p, sizes[k]);
            assert_non_null(q);
            assert_true(rung_malloc_usable_size(q) >= sizes[k]);
            assert_filled(q, sizes[i] < sizes[k] ? sizes[i] : sizes[k]);
            rung_free(q);
            assert_sound();
        }
}

static void test_special_cases(void **state) {
    (void)state;
    void *p = rung_realloc(NULL, 100);
    assert_non_null(p);
    assert_null(rung_realloc(p, 0));
    p = rung_malloc(100);
    errno = 0;
    assert_null(rung_realloc(p, SIZE_MAX));
    assert_int_equal(errno, ENOMEM);
    errno = 0;
    assert_null(rung_reallocarray(p, SIZE_MAX / 2, 3));
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(rung_malloc_usable_size(p), 104); /* still there */
    assert_non_null(rung_reallocarray(p, 10, 20));
    assert_sound();
}

/* Nothing is lost when there is no memory to move to. */
static void test_failure_leaves_the_block(void **state) {
    (void)state;
    without_cache();
    unsigned char *p = filled(1000);
    assert_non_null(rung_malloc(16));
    double_limit(0);
    double_fail_verb(VERB_RESERVE);
    errno = 0;
    assert_null(rung_realloc(p, 1 << 20));
    assert_int_equal(errno, ENOMEM);
    assert_filled(p, 1000);
    double_limit(SIZE_MAX);
    double_heal();
    unsigned char *q = rung_realloc(p, 1 << 20);
    assert_non_null(q);
    assert_filled(q, 1000);
    assert_sound();
}

static unsigned char *block;

static void resize_nonsense(void) {
    chunk_set_head(chunk_of_mem(block), 16 | PREV_INUSE);
    rung_realloc(block, 200);
}
static void resize_before_nonsense(void) {
    chunk_set_head(chunk_next(chunk_of_mem(block)), PREV_INUSE);
    rung_realloc(block, 2000);
}
static void resize_misaligned(void) {
    rung_realloc(block + 8, 200);
}

static void test_misuse(void **state) {
    (void)state;
    block = filled(100);
    assert_non_null(rung_malloc(16));
    assert_dies(resize_nonsense, "realloc(): invalid old size\n");
    assert_dies(resize_before_nonsense, "realloc(): invalid next size\n");
    assert_dies(resize_misaligned, "realloc(): invalid pointer\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_into_top),
        cmocka_unit_test(test_beyond_top),
        cmocka_unit_test(test_beyond_top_of_a_secondary_arena),
        cmocka_unit_test(test_beyond_a_blocked_top),
        cmocka_unit_test(test_past_the_cache),
        cmocka_unit_test(test_filled_for_debugging),
        cmocka_unit_test(test_into_a_free_neighbour),
        cmocka_unit_test(test_shrinking_frees_the_rest),
        cmocka_unit_test(test_up_to_the_usable_size),
        cmocka_unit_test(test_every_pair_of_sizes),
        cmocka_unit_test(test_special_cases),
        cmocka_unit_test(test_failure_leaves_the_block),
        cmocka_unit_test(test_misuse),
    };
    return UNIT_RUN(tests);
}
