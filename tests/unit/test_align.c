/* Aligned blocks. */
#include <errno.h>
#include <string.h>

#include "base/counter.h"
#include "unit.h"

static void test_every_alignment(void **state) {
    (void)state;
    void *blocks[80];
    size_t n = 0;
    for (size_t align = 1; align <= 1 << 20; align *= 2) {
        for (size_t size = 1; size <= 100000; size *= 100) {
            char *p = rung_memalign(align, size);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % (align > 16 ? align : 16), 0);
            assert_true(rung_malloc_usable_size(p) >= size);
            memset(p, 0xff, rung_malloc_usable_size(p));
            blocks[n++] = p;
            assert_sound();
        }
    }
    for (size_t i = 0; i < n; i += 2) {
        rung_free(blocks[i]);
        assert_sound();
    }
    for (size_t i = 1; i < n; i += 2) {
        rung_free(blocks[i]);
        assert_sound();
    }
}

/* What lies in front and behind is free, and of use. */
static void test_lead_and_tail_come_back(void **state) {
    (void)state;
    without_cache();
    char *p = rung_memalign(4096, 100);
    assert_int_equal(chunk_bytes(p), 112);
    struct mallinfo2 m = rung_mallinfo2();
    assert_int_equal(m.uordblks, 112);
    assert_sound();
    void *q = rung_malloc(1000); /* from the lead-in */
    assert_true((char *)q < p);
    rung_free(q);
    rung_free(p);
    assert_int_equal(rung_mallinfo2().uordblks, 0);
    assert_sound();
}

/* A block that is aligned by chance is not cut. */
static void test_aligned_by_chance(void **state) {
    (void)state;
    without_cache();
    for (size_t i = 0; i < 20; i++) {
        char *p = rung_memalign(32, 40);
        assert_int_equal((uintptr_t)p % 32, 0);
        assert_sound();
    }
}

static void test_cached_block_is_used_if_aligned(void **state) {
    (void)state;
    void *p = rung_memalign(256, 500);
    rung_free(p);
    assert_ptr_equal(rung_memalign(256, 500), p);
    rung_free(p);
    assert_ptr_equal(rung_memalign(64, 500), p);
    assert_sound();
}

static void test_large_ones_are_mapped(void **state) {
    (void)state;
    rung_malloc(16);
    char *p = rung_memalign(1 << 20, 200000);
    assert_int_equal((uintptr_t)p % (1 << 20), 0);
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 1);
    memset(p, 1, 200000);
    p = rung_realloc(p, 500000);
    memset(p, 1, 500000);
    assert_sound();
    rung_free(p);
    assert_int_equal(counter_get(COUNT_MAPPED_NOW), 0);
    assert_sound();
}

static void test_interface(void **state) {
    (void)state;
    void *p = rung_memalign(48, 10); /* rounded up */
    assert_int_equal((uintptr_t)p % 64, 0);
    errno = 0;
    assert_null(rung_aligned_alloc(48, 10));
    assert_int_equal(errno, EINVAL);
    errno = 0;
    assert_null(rung_memalign(((size_t)1 << 63) + 1, 10));
    assert_int_equal(errno, EINVAL);
    errno = 0;
    assert_null(rung_memalign((size_t)1 << 63, 10));
    assert_int_equal(errno, ENOMEM);
    void *q = &q;
    assert_int_equal(rung_posix_memalign(&q, 4, 10), EINVAL);
    assert_int_equal(rung_posix_memalign(&q, 24, 10), EINVAL);
    assert_int_equal(rung_posix_memalign(&q, 64, SIZE_MAX), ENOMEM);
    assert_ptr_equal(q, &q);
    assert_int_equal(rung_posix_memalign(&q, 64, 10), 0);
    assert_int_equal((uintptr_t)q % 64, 0);
    assert_int_equal((uintptr_t)rung_valloc(10) % 4096, 0);
    void *pages = rung_pvalloc(4097);
    assert_true((uintptr_t)pages % 4096 == 0 && rung_malloc_usable_size(pages) >= 8192);
    assert_int_equal(rung_memalignment((void *)(uintptr_t)0x18), 8);
    assert_sound();
}

static void test_larger_pages(void **state) {
    (void)state;
    struct os_facts facts = os_facts;
    facts.page = 65536;
    double_set_facts(&facts);
    assert_int_equal((uintptr_t)rung_valloc(10) % 65536, 0);
    void *pages = rung_pvalloc(1);
    assert_true((uintptr_t)pages % 65536 == 0 && rung_malloc_usable_size(pages) >= 65536);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_alignment),
        cmocka_unit_test(test_lead_and_tail_come_back),
        cmocka_unit_test(test_aligned_by_chance),
        cmocka_unit_test(test_cached_block_is_used_if_aligned),
        cmocka_unit_test(test_large_ones_are_mapped),
        cmocka_unit_test(test_interface),
        cmocka_unit_test(test_larger_pages),
    };
    return UNIT_RUN(tests);
}
