/* Sub-heaps (row C3). */
#include <string.h>

#include "arena/heap.h"
#include "base/counter.h"
#include "unit.h"

static struct arena owner;

static struct heap *create(size_t need, size_t pad) {
    struct heap *h = heap_create(&owner, 0, need, pad);
    assert_non_null(h);
    assert_true((uintptr_t)h % HEAP_MAX == 0);
    assert_true(heap_known(h) && heap_known((char *)h + HEAP_MAX - 1));
    assert_true(double_is_accessible(h, h->committed));
    return h;
}

static void test_size_of_a_fresh_one(void **state) {
    (void)state;
    assert_int_equal(create(32, 0)->size, 32768);
    assert_int_equal(create(32, 131072)->size, 135168);
    assert_int_equal(create(100000, 131072)->size, (100000 + 48 + 131072 + 4095) / 4096 * 4096);
    assert_int_equal(create(40 << 20, 40 << 20)->size, HEAP_MAX); /* the pad as far as it fits */
    assert_int_equal(create(HEAP_MAX - 48, 131072)->size, HEAP_MAX);
    assert_null(heap_create(&owner, 0, HEAP_MAX - 47, 0));
    assert_null(heap_create(&owner, 0, SIZE_MAX, 0));
    assert_int_equal(counter_get(COUNT_SUBHEAPS), 5);
    assert_int_equal(double_address_space(), 5 * HEAP_MAX);
}

/* Twice as much is asked for, the aligned half kept, the rest returned.  A half that happened to be aligned
   is remembered, and costs one call the next time. */
static void test_alignment_by_double_reservation(void **state) {
    (void)state;
    for (int i = 1; i <= 12; i++) {
        double_count_from_here();
        create(32, 0);
        assert_int_equal(double_address_space(), (size_t)i * HEAP_MAX);
        assert_true(double_calls(VERB_RESERVE) <= 2 && double_calls(VERB_UNMAP) <= 3);
    }
}

/* Without room for two windows one may be aligned by luck; if not, it goes back. */
static void test_no_room_for_two(void **state) {
    (void)state;
    double_fail(1, 1);
    struct heap *h = heap_create(&owner, 0, 32, 0);
    double_heal();
    assert_int_equal(double_address_space(), h != NULL ? HEAP_MAX : 0);
}

static void test_no_commit(void **state) {
    (void)state;
    double_fail_verb(VERB_COMMIT);
    assert_null(heap_create(&owner, 0, 32, 0));
    assert_int_equal(double_address_space(), 0);
    assert_int_equal(counter_get(COUNT_SUBHEAPS), 0);
}

static void test_growth_by_pages(void **state) {
    (void)state;
    struct heap *h = create(32, 0);
    double_count_from_here();
    assert_true(heap_grow(h, 1));
    assert_int_equal(h->size, 32768 + 4096);
    assert_int_equal(h->committed, h->size);
    assert_true(heap_grow(h, 4096));
    assert_int_equal(h->size, 32768 + 8192);
    assert_int_equal(double_calls(VERB_COMMIT), 2);
    assert_false(heap_grow(h, HEAP_MAX - h->size + 1));
    assert_false(heap_grow(h, SIZE_MAX));
    assert_int_equal(h->size, 32768 + 8192);
    double_fail_verb(VERB_COMMIT);
    assert_false(heap_grow(h, 4096));
    assert_int_equal(h->size, 32768 + 8192);
    double_heal();
    assert_true(heap_grow(h, HEAP_MAX - h->size));
    assert_int_equal(h->size, HEAP_MAX);
    memset((char *)h + HEAP_MAX - 4096, 1, 4096);
}

/* Row D6: the pages go, the access stays, and growing again costs no call. */
static void test_shrinking_by_purge(void **state) {
    (void)state;
    struct heap *h = create(100000, 0);
    size_t size = h->size;
    memset((char *)h + size - 8192, 0xff, 8192);
    double_count_from_here();
    bool zero = true;
    assert_true(heap_shrink(h, 8192, &zero));
    assert_int_equal(double_calls(VERB_PURGE), 1);
    assert_int_equal(double_bytes(VERB_PURGE), 8192);
    assert_false(zero);
    assert_int_equal(h->size, size - 8192);
    assert_int_equal(h->committed, size);
    assert_true(heap_grow(h, 8192));
    assert_int_equal(double_calls(VERB_COMMIT), 0);
    assert_int_equal(((char *)h)[size - 1], 0);
}

static void shrink_by_decommit(bool strict, bool secure) {
    struct os_facts facts = os_facts;
    facts.strict_commit = strict;
    facts.secure = secure;
    double_set_facts(&facts);
    struct heap *h = create(100000, 0);
    size_t size = h->size;
    double_count_from_here();
    bool zero = false;
    assert_true(heap_shrink(h, 8192, &zero));
    assert_int_equal(double_calls(VERB_DECOMMIT), 1);
    assert_int_equal(double_calls(VERB_PURGE), 0);
    assert_true(zero);
    assert_int_equal(h->committed, size - 8192);
    assert_false(double_is_accessible((char *)h + size - 8192, 4096));
    assert_true(heap_grow(h, 1));
    assert_int_equal(double_calls(VERB_COMMIT), 1);
}

static void test_shrinking_under_strict_commit(void **state) {
    (void)state;
    shrink_by_decommit(true, false);
}

static void test_shrinking_in_a_secure_process(void **state) {
    (void)state;
    shrink_by_decommit(false, true);
}

static void test_refused_shrinking(void **state) {
    (void)state;
    struct heap *h = create(100000, 0);
    struct heap before = *h;
    bool zero;
    double_fail_verb(VERB_PURGE);
    assert_false(heap_shrink(h, 4096, &zero));
    assert_memory_equal(h, &before, sizeof before);
}

static void test_destruction(void **state) {
    (void)state;
    struct heap *h = create(32, 0);
    double_fail_verb(VERB_UNMAP);
    assert_false(heap_destroy(h));
    assert_true(heap_known(h));
    assert_int_equal(counter_get(COUNT_SUBHEAPS), 1);
    double_heal();
    assert_true(heap_destroy(h));
    assert_false(heap_known(h));
    assert_int_equal(counter_get(COUNT_SUBHEAPS), 0);
    assert_int_equal(double_address_space(), 0);
}

static void test_known_addresses(void **state) {
    (void)state;
    int local = 0;
    assert_false(heap_known(&local));
    assert_false(heap_known(NULL));
    assert_false(heap_known((void *)UINTPTR_MAX));
    assert_false(heap_known((void *)((uintptr_t)1 << 48)));
    struct heap *h = create(32, 0);
    assert_ptr_equal(heap_of((char *)h + 12345), h);
}

static void test_larger_pages(void **state) {
    (void)state;
    for (size_t page = 16384; page <= 65536; page *= 4) {
        struct os_facts facts = os_facts;
        facts.page = page;
        double_set_facts(&facts);
        struct heap *h = create(32, 0);
        assert_int_equal(h->size, page > 32768 ? page : 32768);
        size_t size = h->size;
        assert_true(heap_grow(h, 1));
        assert_int_equal(h->size, size + page);
        bool zero;
        assert_true(heap_shrink(h, page, &zero));
        assert_true(heap_destroy(h));
        assert_int_equal(double_address_space(), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size_of_a_fresh_one),
        cmocka_unit_test(test_alignment_by_double_reservation),
        cmocka_unit_test(test_no_room_for_two),
        cmocka_unit_test(test_no_commit),
        cmocka_unit_test(test_growth_by_pages),
        cmocka_unit_test(test_shrinking_by_purge),
        cmocka_unit_test(test_shrinking_under_strict_commit),
        cmocka_unit_test(test_shrinking_in_a_secure_process),
        cmocka_unit_test(test_refused_shrinking),
        cmocka_unit_test(test_destruction),
        cmocka_unit_test(test_known_addresses),
        cmocka_unit_test(test_larger_pages),
    };
    return UNIT_RUN(tests);
}
