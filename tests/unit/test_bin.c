/* The lists of free chunks (row A3). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/bin.h"
#include "unit.h"

/* Chunks that touch nobody, each with room for its foot. */
enum { SLOTS = 400, SLOT = 16384 };
static _Alignas(16) char memory[SLOTS][SLOT + 16];
static struct bins bins;
static size_t used;

static struct chunk *fresh(size_t csz) {
    struct chunk *c = (struct chunk *)memory[used++];
    assert_true(csz <= SLOT && used <= SLOTS);
    chunk_set_head(c, csz | PREV_INUSE);
    set_foot(c, csz);
    return c;
}

static struct chunk *binned(size_t csz) {
    struct chunk *c = fresh(csz);
    if (is_small(csz))
        bins_add_small(&bins, c, csz);
    else
        bins_add_large(&bins, c, csz);
    return c;
}

static int start_over(void **state) {
    (void)state;
    used = 0;
    bins_init(&bins);
    return 0;
}

static void test_bin_numbers(void **state) {
    (void)state;
    assert_int_equal(bin_of_size(32), 2);
    assert_int_equal(bin_of_size(1008), 63);
    /* Widths 64, 512, 4096, 32768, 262144, the rest: first and last size of each group. */
    const struct {
        size_t csz;
        unsigned bin;
    } border[] = {{1024, 64},     {1072, 64},    {1088, 65},    {3120, 96},    {3136, 97},    {3568, 97},
                  {3584, 98},     {10736, 111},  {10752, 112},  {12272, 112},  {12288, 113},  {45040, 120},
                  {45056, 120},   {65520, 120},  {65536, 121},  {163824, 123}, {163840, 124}, {262128, 124},
                  {262144, 125},  {524272, 125}, {524288, 126}, {786416, 126}, {786432, 126}, {(size_t)1 << 40, 126}};
    for (size_t i = 0; i < sizeof border / sizeof border[0]; i++)
        assert_int_equal(bin_of_size(border[i].csz), border[i].bin);
    unsigned last = 0;
    for (size_t csz = 32; csz < 2 << 20; csz += 16) {
        unsigned bin = bin_of_size(csz);
        assert_true(bin == last || bin == last + 1 || csz == 32);
        assert_int_equal(is_small(csz), bin < BIN_FIRST_LARGE);
        last = bin;
    }
    assert_int_equal(last, BIN_COUNT - 1);
}

static void test_small_bin_is_a_queue(void **state) {
    (void)state;
    struct chunk *a = binned(64), *b = binned(64), *c = binned(64);
    binned(80);
    struct link *head = bin_head(&bins, 4);
    assert_ptr_equal(head->prev, &a->link); /* the oldest is the next to go */
    assert_ptr_equal(head->next, &c->link);
    bins_remove(&bins, b);
    assert_ptr_equal(a->link.prev, &c->link);
    bins_remove(&bins, a);
    bins_remove(&bins, c);
    assert_true(list_empty(head));
}

/* Sizes of a large bin in order, and those in its ring. */
static void assert_large_bin(unsigned index, size_t n, const size_t *sizes) {
    struct link *head = bin_head(&bins, index);
    size_t i = 0, last = SIZE_MAX;
    struct chunk *first = NULL, *before = NULL;
    for (struct link *l = head->next; l != head; l = l->next, i++) {
        struct chunk *c = chunk_of_link(l);
        assert_true(i < n);
        assert_int_equal(chunk_size(c), sizes[i]);
        assert_ptr_equal(l->next->prev, l);
        if (sizes[i] == last) {
            assert_null(c->sizes.next);
        } else {
            if (before != NULL) {
                assert_ptr_equal(before->sizes.next, &c->sizes);
                assert_ptr_equal(c->sizes.prev, &before->sizes);
            }
            first = first != NULL ? first : c;
            before = c;
        }
        last = sizes[i];
    }
    assert_int_equal(i, n);
    if (first != NULL) {
        assert_ptr_equal(before->sizes.next, &first->sizes);
        assert_ptr_equal(first->sizes.prev, &before->sizes);
    }
}

static void test_large_bin_is_sorted(void **state) {
    (void)state;
    const size_t in[] = {3648, 4080, 3584, 3648, 3584, 4080, 3600, 3648};
    for (size_t i = 0; i < 8; i++)
        binned(in[i]);
    const size_t order[] = {4080, 4080, 3648, 3648, 3648, 3600, 3584, 3584};
    assert_large_bin(bin_of_size(3584), 8, order);
}

/* The second of a size is taken, so that the ring stays as it is. */
static void test_best_fit(void **state) {
    (void)state;
    unsigned index = bin_of_size(3584);
    struct chunk *a = binned(3648), *b = binned(3648), *c = binned(3648), *small = binned(3584);
    struct chunk *large = binned(4080);
    assert_ptr_equal(bin_best_fit(&bins, index, 3584), small);
    struct chunk *fit = bin_best_fit(&bins, index, 3600);
    assert_ptr_not_equal(fit, a); /* the first of its size */
    assert_ptr_equal(fit, c); /* the newest of the others */
    bins_remove(&bins, fit);
    assert_ptr_equal(bin_best_fit(&bins, index, 3648), b);
    bins_remove(&bins, b);
    assert_ptr_equal(bin_best_fit(&bins, index, 3648), a);
    bins_remove(&bins, a);
    assert_ptr_equal(bin_best_fit(&bins, index, 3600), large);
    assert_null(bin_best_fit(&bins, index, 4096));
    const size_t order[] = {4080, 3584};
    assert_large_bin(index, 2, order);
}

/* Taking the first of a size makes its successor the ring's. */
static void test_heir_in_the_ring(void **state) {
    (void)state;
    struct chunk *a = binned(3648);
    binned(3648);
    binned(3648);
    bins_remove(&bins, a); /* the only size */
    const size_t one[] = {3648, 3648};
    assert_large_bin(bin_of_size(3648), 2, one);
    binned(4080);
    binned(3584);
    bins_remove(&bins, chunk_of_link(bin_head(&bins, bin_of_size(3648))->next->next));
    const size_t three[] = {4080, 3648, 3584};
    assert_large_bin(bin_of_size(3648), 3, three);
}

static void test_next_larger_and_the_map(void **state) {
    (void)state;
    assert_null(bins_next_larger(&bins, BIN_FIRST_SMALL));
    struct chunk *a = binned(64), *b = binned(4080), *c = binned(64);
    assert_ptr_equal(bins_next_larger(&bins, 2), a);
    assert_ptr_equal(bins_next_larger(&bins, 4), a);
    assert_ptr_equal(bins_next_larger(&bins, 5), b);
    bins_remove(&bins, a);
    bins_remove(&bins, c);
    /* The bit is set until a search finds the bin empty. */
    assert_true(bins.map[0] >> 4 & 1);
    assert_ptr_equal(bins_next_larger(&bins, 2), b);
    assert_false(bins.map[0] >> 4 & 1);
    bins_remove(&bins, b);
    assert_null(bins_next_larger(&bins, 2));
    assert_true(bins.map[0] == 0 && bins.map[1] == 0);
    assert_null(bins_next_larger(&bins, BIN_COUNT));
}

static void test_unsorted_is_a_queue(void **state) {
    (void)state;
    struct chunk *a = fresh(3584), *b = fresh(64);
    a->sizes.next = &a->sizes;
    bins_add_unsorted(&bins, a, MSG_FREE_UNSORTED);
    bins_add_unsorted(&bins, b, MSG_FREE_UNSORTED);
    assert_ptr_equal(unsorted(&bins)->prev, &a->link);
    assert_null(a->sizes.next); /* in no ring, whatever stood there */
    bins_remove(&bins, a);
    bins_remove(&bins, b);
    assert_true(list_empty(unsorted(&bins)));
}

static void test_random_large_bins(void **state) {
    (void)state;
    const char *given = getenv("RUNG_TEST_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 0) : 20;
    printf("RUNG_TEST_SEED=%u\n", seed);
    struct chunk *in[SLOTS];
    size_t n = 0;
    for (int step = 0; step < 20000; step++) {
        seed = seed * 1103515245 + 12345;
        if (n < 100 && (used < SLOTS || n == 0) && (seed >> 16) % 2 == 0) {
            if (used == SLOTS)
                break;
            in[n++] = binned(3584 + (seed >> 20) % 12 * 16 * 2);
        } else if (n > 0) {
            size_t i = (seed >> 18) % n;
            struct chunk *c = in[i];
            bins_remove(&bins, c);
            in[i] = in[--n];
            if ((seed >> 10) % 4 != 0) { /* the same memory again, with another size */
                size_t csz = 3584 + (seed >> 22) % 12 * 32;
                chunk_set_head(c, csz | PREV_INUSE);
                set_foot(c, csz);
                bins_add_large(&bins, c, csz);
                in[n++] = c;
            }
        }
        size_t sizes[SLOTS];
        for (size_t i = 0; i < n; i++) { /* insertion sort, largest first */
            size_t at = i, csz = chunk_size(in[i]);
            for (; at > 0 && sizes[at - 1] < csz; at--)
                sizes[at] = sizes[at - 1];
            sizes[at] = csz;
        }
        assert_large_bin(bin_of_size(3584), n, sizes);
        size_t want = 3584 + (seed >> 13) % 24 * 16, best = SIZE_MAX;
        for (size_t i = 0; i < n; i++)
            if (sizes[i] >= want && sizes[i] < best)
                best = sizes[i];
        struct chunk *fit = bin_best_fit(&bins, bin_of_size(3584), want);
        assert_int_equal(fit != NULL ? chunk_size(fit) : SIZE_MAX, best);
    }
}

/* ---- what is written over is found ---- */

static void remove_with_wrong_foot(void) {
    struct chunk *c = binned(64);
    chunk_at(c, 64)->foot = 80;
    bins_remove(&bins, c);
}

static void remove_with_wrong_link(void) {
    struct chunk *c = binned(64);
    binned(64);
    c->link.next = &((struct chunk *)memory[SLOTS - 1])->link;
    bins_remove(&bins, c);
}

static void remove_with_wrong_ring(void) {
    struct chunk *c = binned(3584);
    binned(3648);
    c->sizes.next = &((struct chunk *)memory[SLOTS - 1])->sizes;
    bins_remove(&bins, c);
}

static void insert_beside_a_wrong_ring(void) {
    struct chunk *c = binned(3648);
    c->sizes.prev = &((struct chunk *)memory[SLOTS - 1])->sizes;
    binned(3600);
}

static void insert_beside_a_wrong_link(void) {
    struct chunk *c = binned(3648);
    binned(3600);
    c->link.prev = &((struct chunk *)memory[SLOTS - 1])->link;
    binned(4080);
}

static void test_corruption(void **state) {
    (void)state;
    assert_dies(remove_with_wrong_foot, "corrupted size vs. prev_size\n");
    assert_dies(remove_with_wrong_link, "corrupted double-linked list\n");
    assert_dies(remove_with_wrong_ring, "corrupted double-linked list (not small)\n");
    assert_dies(insert_beside_a_wrong_ring, "malloc(): largebin double linked list corrupted (nextsize)\n");
    assert_dies(insert_beside_a_wrong_link, "malloc(): largebin double linked list corrupted (bk)\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bin_numbers),
        cmocka_unit_test_setup(test_small_bin_is_a_queue, start_over),
        cmocka_unit_test_setup(test_large_bin_is_sorted, start_over),
        cmocka_unit_test_setup(test_best_fit, start_over),
        cmocka_unit_test_setup(test_heir_in_the_ring, start_over),
        cmocka_unit_test_setup(test_next_larger_and_the_map, start_over),
        cmocka_unit_test_setup(test_unsorted_is_a_queue, start_over),
        cmocka_unit_test_setup(test_random_large_bins, start_over),
        cmocka_unit_test_setup(test_corruption, start_over),
    };
    return UNIT_RUN(tests);
}
