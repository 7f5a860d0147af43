/* Arithmetic on sizes and the chunk's layout (row A1). */
#include <string.h>

#include "base/bits.h"
#include "cache/tcache.h"
#include "chunk/chunk.h"
#include "unit.h"

static void test_bits(void **state) {
    (void)state;
    assert_false(is_pow2(0));
    for (unsigned i = 0; i < 64; i++) {
        size_t n = (size_t)1 << i;
        assert_true(is_pow2(n));
        assert_int_equal(log2_floor(n), i);
        if (n > 2) {
            assert_false(is_pow2(n - 1));
            assert_int_equal(log2_floor(n - 1), i - 1);
            assert_false(is_pow2(n + 1));
        }
    }
    assert_int_equal(align_up(0, 16), 0);
    assert_int_equal(align_up(1, 16), 16);
    assert_int_equal(align_up(16, 16), 16);
    assert_int_equal(align_down(31, 16), 16);
    assert_true(is_aligned(4096, 4096));
    assert_false(is_aligned(4095, 4096));
}

static void test_chunk_sizes(void **state) {
    (void)state;
    /* Row A1 and GROUND: request, chunk, usable. */
    const size_t expected[][3] = {
        {0, 32, 24},        {1, 32, 24},        {24, 32, 24},       {25, 48, 40},
        {41, 64, 56},       {1000, 1008, 1000}, {1032, 1040, 1032}, {1033, 1056, 1048},
        {4096, 4112, 4104}, {131000, 131008, 131000}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(chunk_size_of_request(expected[i][0]), expected[i][1]);
        assert_int_equal(usable_of_chunk_size(expected[i][1]), expected[i][2]);
    }
    for (size_t req = 0; req < 5000; req++) {
        size_t csz = chunk_size_of_request(req);
        assert_true(csz % 16 == 0 && csz >= 32);
        assert_true(usable_of_chunk_size(csz) >= req);
        assert_true(csz == 32 || usable_of_chunk_size(csz - 16) < req);
    }
}

/* The same figures from the interface, and the flags in the word in front. */
static void test_header_of_blocks(void **state) {
    (void)state;
    const size_t expected[][2] = {{1, 32}, {24, 32}, {25, 48}, {1000, 1008}};
    for (size_t i = 0; i < 4; i++) {
        char *p = rung_malloc(expected[i][0]);
        assert_true((uintptr_t)p % 16 == 0);
        size_t word;
        memcpy(&word, p - 8, sizeof word);
        assert_int_equal(word, expected[i][1] | 1);
        assert_int_equal(rung_malloc_usable_size(p), expected[i][1] - 8);
    }
    assert_int_equal(PREV_INUSE, 1);
    assert_int_equal(IS_MAPPED, 2);
    assert_int_equal(SECONDARY, 4);
}

static void test_chunk_accessors(void **state) {
    (void)state;
    _Alignas(16) char memory[256] = {0};
    struct chunk *c = (struct chunk *)memory;
    chunk_set_head(c, 96 | PREV_INUSE | SECONDARY);
    assert_int_equal(chunk_size(c), 96);
    assert_true(prev_inuse(c) && is_secondary(c) && !is_mapped(c));
    assert_ptr_equal(mem_of_chunk(c), memory + 16);
    assert_ptr_equal(chunk_of_mem(memory + 16), c);
    assert_ptr_equal(chunk_next(c), memory + 96);
    assert_false(chunk_inuse(c));
    set_prev_inuse(chunk_next(c));
    assert_true(chunk_inuse(c));
    clear_prev_inuse(chunk_next(c));
    assert_false(chunk_inuse(c));
    set_foot(c, 96);
    assert_int_equal(foot_of_prev(chunk_next(c)), 96);
    assert_ptr_equal(chunk_of_link(&c->link), c);
    assert_ptr_equal(chunk_of_sizes(&c->sizes), c);
}

/* The two ways to a bin number on the hot path agree with each other and with the slow one (row B1). */
static void test_tcache_bins(void **state) {
    (void)state;
    assert_int_equal(sizeof(struct tcache), 760);
    assert_int_equal(tcache_bin_of_request(0), 0);
    assert_int_equal(tcache_bin_of_request(24), 0);
    assert_int_equal(tcache_bin_of_request(25), 1);
    assert_int_equal(tcache_bin_of_request(1032), 63);
    for (size_t req = 0; req <= 1032; req++) {
        size_t csz = chunk_size_of_request(req);
        assert_int_equal(tcache_bin_of_request(req), csz / 16 - 2);
        for (size_t flags = 0; flags < 8; flags++)
            assert_int_equal(tcache_bin_of_head(csz | flags), csz / 16 - 2);
        assert_int_equal(tcache_bin(csz), csz / 16 - 2);
    }
    /* What is no small request leads past the linear bins, at the end of the address space, too. */
    const size_t large[] = {1033, 4096, (size_t)1 << 40, PTRDIFF_MAX, SIZE_MAX - 24, SIZE_MAX - 8, SIZE_MAX};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
        assert_true(tcache_bin_of_request(large[i]) >= TCACHE_SMALL_BINS);
    assert_true(tcache_bin_of_head(0) >= TCACHE_SMALL_BINS);
    assert_true(tcache_bin_of_head(16 | 1) >= TCACHE_SMALL_BINS);
    assert_int_equal(tcache_bin(1056), TCACHE_BINS); /* tcache_max is 1032 */
}

static void test_large_tcache_bins(void **state) {
    (void)state;
    assume(OPT_TCACHE_MAX, 4194304);
    assert_int_equal(tcache_bin(1040), 63);
    assert_int_equal(tcache_bin(1056), 64);
    assert_int_equal(tcache_bin(2032), 64);
    assert_int_equal(tcache_bin(2048), 65);
    assert_int_equal(tcache_bin(4096), 66);
    assert_int_equal(tcache_bin((1 << 21) - 16), 74);
    assert_int_equal(tcache_bin(1 << 21), 75);
    assert_int_equal(tcache_bin(chunk_size_of_request(4194304)), 75);
    assert_int_equal(tcache_bin(chunk_size_of_request(4194304) + 16), TCACHE_BINS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_chunk_sizes),
        cmocka_unit_test(test_header_of_blocks),
        cmocka_unit_test(test_chunk_accessors),
        cmocka_unit_test(test_tcache_bins),
        cmocka_unit_test(test_large_tcache_bins),
    };
    return UNIT_RUN(tests);
}
