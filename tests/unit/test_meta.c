/* Memory for the library's own structures. */
#include <string.h>

#include "base/counter.h"
#include "chunk/meta.h"
#include "unit.h"

static void assert_zero(const char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        assert_int_equal(p[i], 0);
}

static char *get(size_t size) {
    char *p = meta_alloc(size);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 64, 0);
    assert_zero(p, size);
    memset(p, 0xff, size);
    return p;
}

/* The bytes handed out since `before`: the start of the library has some, too. */
static size_t handed_out(size_t before) {
    return counter_get(COUNT_META_BYTES) - before;
}

static void test_first_pages_are_built_in(void **state) {
    (void)state;
    size_t before = counter_get(COUNT_META_BYTES);
    for (int i = 0; i < 20; i++)
        get(760);
    assert_int_equal(double_calls(VERB_MAP), 0);
    assert_int_equal(handed_out(before), 20 * 768);
    assert_int_equal(counter_get(COUNT_META_MAPPED), 0);
    for (int i = 0; i < 40; i++)
        get(760);
    assert_int_equal(double_calls(VERB_MAP), 1);
    assert_int_equal(counter_get(COUNT_META_MAPPED), 65536);
    assert_sound();
}

static void test_reuse(void **state) {
    (void)state;
    size_t before = counter_get(COUNT_META_BYTES);
    char *p = get(760), *q = get(2200);
    meta_free(p, 760);
    meta_free(q, 2200);
    assert_int_equal(handed_out(before), 0);
    assert_ptr_equal(get(2200), q);
    assert_ptr_equal(get(760), p);
    for (int i = 0; i < 10000; i++)
        meta_free(get(500), 500);
    assert_int_equal(double_calls(VERB_MAP), 0);
}

static void test_blocks_do_not_overlap(void **state) {
    (void)state;
    enum { N = 300 };
    char *p[N];
    size_t size[N];
    for (size_t i = 0; i < N; i++) {
        size[i] = 1 + i * 37 % 4000;
        p[i] = get(size[i]);
        memset(p[i], (int)(i & 0x7f), size[i]);
    }
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < size[i]; k++)
            assert_int_equal(p[i][k], i & 0x7f);
    assert_sound();
}

static void test_no_memory(void **state) {
    (void)state;
    double_fail_verb(VERB_MAP);
    size_t before = counter_get(COUNT_META_BYTES);
    int got = 0;
    while (meta_alloc(760) != NULL)
        got++;
    assert_in_range(got, 15, 22); /* the built-in ones */
    assert_int_equal(handed_out(before), (size_t)got * 768);
    double_heal();
    get(760);
    assert_sound();
}

static void test_lock_not_to_be_had(void **state) {
    (void)state;
    char *p = get(100);
    assert_true(lock_take(&meta_lock));
    assert_null(meta_alloc(100));
    lock_release(&meta_lock);
    lock_fork_freeze(&meta_lock, os_clock_us() + 1000000);
    assert_null(meta_alloc(100));
    meta_free(p, 100); /* lost, as the header says */
    lock_fork_thaw(&meta_lock);
    get(100);
}

static void test_larger_pages(void **state) {
    (void)state;
    struct os_facts facts = os_facts;
    facts.page = 65536;
    double_set_facts(&facts);
    for (int i = 0; i < 200; i++)
        get(760);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_pages_are_built_in),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_blocks_do_not_overlap),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_lock_not_to_be_had),
        cmocka_unit_test(test_larger_pages),
    };
    return UNIT_RUN(tests);
}
