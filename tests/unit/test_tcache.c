/* The thread's cache (rows B1 to B7). */
#include <pthread.h>
#include <string.h>

#include "base/counter.h"
#include "cache/tcache.h"
#include "chunk/meta.h"
#include "unit.h"

static void test_empty_ones(void **state) {
    (void)state;
    /* Row B2: never NULL, inactive before the first call, without room or contents. */
    assert_ptr_equal(self.tcache, &tcache_inactive);
    const struct tcache zero = {0};
    assert_memory_equal(&tcache_inactive, &zero, sizeof zero);
    void *p = rung_malloc(16);
    assert_ptr_not_equal(self.tcache, &tcache_inactive);
    assert_ptr_not_equal(self.tcache, &tcache_disabled);
    rung_free(p);
    assert_memory_equal(&tcache_inactive, &zero, sizeof zero);
    assert_memory_equal(&tcache_disabled, &zero, sizeof zero);
}

static void test_disabled_for_ever_after_a_failed_start(void **state) {
    (void)state;
    double_fail_verb(VERB_MAP);
    while (meta_alloc(sizeof(struct tcache)) != NULL) {
    }
    void *p = rung_malloc(16);
    double_heal();
    assert_non_null(p);
    assert_ptr_equal(self.tcache, &tcache_disabled);
    rung_free(p);
    p = rung_malloc(16);
    assert_ptr_equal(self.tcache, &tcache_disabled);
    rung_free(p);
    const struct tcache zero = {0};
    assert_memory_equal(&tcache_disabled, &zero, sizeof zero);
    assert_sound();
}

static void test_disabled_by_the_options(void **state) {
    (void)state;
    assume(OPT_TCACHE_COUNT, 0);
    rung_free(rung_malloc(16));
    assert_ptr_equal(self.tcache, &tcache_disabled);
    assert_int_equal(counter_get(COUNT_TCACHES), 0);
    assert_int_equal(rung_mallinfo2().uordblks, 0);
}

/* memalign looks at all of a bin, of a bin of large sizes too, and only there; the rest of the bin stays. */
static void aligned_from_bin(size_t size) {
    enum { N = 12 };
    void *p[N];
    unsigned fit = 0;
    for (unsigned i = 0; i < N; i++) {
        if (i == 3 || i == 7) { /* never the first of the bin */
            p[i] = rung_memalign(256, size);
        } else {
            assert_non_null(rung_malloc(24));
            p[i] = rung_malloc(size);
        }
        fit += (uintptr_t)p[i] % 256 == 0 && chunk_bytes(p[i]) == chunk_size_of_request(size);
    }
    assert_in_range(fit, 1, N / 2);
    give(p, N);
    for (unsigned found = 0; found <= fit; found++) {
        void *q = rung_memalign(256, size);
        assert_true((uintptr_t)q % 256 == 0);
        bool was_cached = false;
        for (unsigned i = 0; i < N; i++)
            was_cached |= p[i] == q;
        assert_int_equal(was_cached, found < fit);
    }
    unsigned left = 0;
    for (unsigned i = 0; i < N - fit; i++) {
        void *q = rung_malloc(size);
        for (unsigned k = 0; k < N; k++)
            left += p[k] == q;
    }
    assert_int_equal(left, N - fit);
    assert_sound();
}

static void test_memalign_looks_at_the_whole_bin(void **state) {
    (void)state;
    assume(OPT_TCACHE_MAX, 4 * MIB);
    aligned_from_bin(88);
    aligned_from_bin(1000);
    aligned_from_bin(5000);
}

static void assert_depth(size_t count) {
    enum { N = 70000 };
    static void *p[N];
    assume(OPT_TCACHE_COUNT, count);
    size_t n = count + 10 < N ? count + 10 : N;
    take(p, n, 40);
    size_t in_use = rung_mallinfo2().uordblks;
    give(p, n);
    /* What is cached is in use for the arena. */
    assert_int_equal(in_use - rung_mallinfo2().uordblks, (n - count) * 48);
    assert_int_equal(tcache_bytes(self.tcache), count * 48);
    assert_int_equal(self.tcache->room[1], 0);
    assert_sound();
}

static void test_depth_of_16(void **state) {
    (void)state;
    assert_depth(16);
}
/* Row B6: all of 16 bits. */
static void test_depth_of_65535(void **state) {
    (void)state;
    assert_depth(65535);
}

static void test_last_linear_bin(void **state) {
    (void)state;
    void *p = rung_malloc(1032), *q = rung_malloc(1033);
    assert_non_null(rung_malloc(16));
    rung_free(p);
    rung_free(q);
    assert_int_equal(tcache_bytes(self.tcache), 1040); /* the second is too large */
    assert_int_equal(self.tcache->room[63], 15);
    assert_int_equal(self.tcache->room[64], 0);
}

static void test_smaller_tcache_max(void **state) {
    (void)state;
    assume(OPT_TCACHE_MAX, 100);
    void *p = rung_malloc(104), *q = rung_malloc(105);
    assert_non_null(rung_malloc(16));
    rung_free(p);
    rung_free(q);
    assert_int_equal(tcache_bytes(self.tcache), 112);
    assert_sound();
}

/* Row B4: stored next = (address of the slot >> 12) xor next. */
static void test_links_are_masked(void **state) {
    (void)state;
    void *p[2];
    take(p, 2, 100);
    give(p, 2);
    uintptr_t stored;
    memcpy(&stored, p[1], sizeof stored);
    assert_int_equal(stored, (uintptr_t)p[0] ^ (uintptr_t)p[1] >> 12);
    memcpy(&stored, p[0], sizeof stored);
    assert_int_equal(stored, (uintptr_t)p[0] >> 12);
}

/* Row B3: the key marks cached objects, and is erased when they are handed out. */
static void test_key(void **state) {
    (void)state;
    int ones = __builtin_popcountl(cached_key);
    assert_in_range(ones, 16, 48);
    uintptr_t *p = rung_malloc(100);
    rung_free(p);
    uintptr_t word;
    memcpy(&word, (char *)p + 8, sizeof word);
    assert_int_equal(word, cached_key);
    assert_ptr_equal(rung_malloc(100), p);
    assert_int_equal(p[1], 0);
    /* Data that happens to be the key is no double free. */
    p[1] = cached_key;
    rung_free(p);
    assert_ptr_equal(self.tcache->head[tcache_bin(112)], p);
    assert_sound();
}

static void test_bad_keys_are_stirred(void **state) {
    (void)state;
    double_fail_verb(VERB_RANDOM);
    for (int i = 0; i < 100; i++) {
        cached_key = 0;
        cached_key_init();
        assert_in_range(__builtin_popcountl(cached_key), 16, 48);
        assert_true(cached_key > 0x1000000 && cached_key < UINTPTR_MAX - 0x1000000);
    }
}

/* ---- row B5: large bins ---- */

static void test_large_bins_are_sorted(void **state) {
    (void)state;
    assume(OPT_TCACHE_MAX, 4194304);
    const size_t sizes[] = {1500, 1300, 1900, 1300, 1100};
    void *p[5];
    for (size_t i = 0; i < 5; i++)
        p[i] = rung_malloc(sizes[i]);
    give(p, 5);
    struct cached *e = self.tcache->head[64];
    const size_t order[] = {4, 3, 1, 0, 2};
    for (size_t i = 0; i < 5; i++, e = unmask_next(e))
        assert_ptr_equal(e, p[order[i]]);
    assert_null(e);
    assert_ptr_equal(rung_malloc(1310), p[0]); /* the smallest that fits */
    assert_ptr_equal(rung_malloc(1200), p[3]);
    assert_ptr_equal(rung_malloc(1800), p[2]);
    assert_ptr_equal(rung_malloc(1050), p[4]);
    assert_ptr_equal(rung_malloc(1050), p[1]);
    assert_null(self.tcache->head[64]);
    assert_int_equal(self.tcache->room[64], 16);
    assert_sound();
}

static void test_large_bins_end_at_4_mib(void **state) {
    (void)state;
    assume(OPT_TCACHE_MAX, 4194304);
    assume(OPT_MMAP_MAX, 0);
    void *p = rung_malloc(4194304), *q = rung_malloc(4194304 + 16);
    assert_non_null(rung_malloc(16));
    rung_free(p);
    rung_free(q);
    assert_int_equal(tcache_bytes(self.tcache), 4194304 + 16);
    assert_ptr_equal(rung_malloc(4000000), p);
    assert_sound();
}

static void test_large_bins_have_a_depth(void **state) {
    (void)state;
    assume(OPT_TCACHE_MAX, 4194304);
    assume(OPT_TCACHE_COUNT, 2);
    void *p[5];
    take(p, 5, 3000);
    give(p, 5);
    assert_int_equal(tcache_bytes(self.tcache), 2 * 3008);
    assert_sound();
}

static void test_calloc_of_a_cached_block(void **state) {
    (void)state;
    assume(OPT_TCACHE_MAX, 4194304);
    for (size_t size = 100; size <= 1000000; size *= 100) {
        unsigned char *p = rung_malloc(size);
        memset(p, 0xff, size);
        rung_free(p);
        unsigned char *q = rung_calloc(size, 1);
        assert_ptr_equal(q, p);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(q[i], 0);
    }
}

/* ---- misuse ---- */

static void **block;

static void free_twice(void) {
    rung_free(block);
    rung_free(block);
}
static void free_twice_below_others(void) {
    void *p[5];
    take(p, 5, 100);
    rung_free(block);
    give(p, 5);
    rung_free(block);
}
static void free_twice_with_other_size(void) {
    rung_free(block);
    chunk_set_head(chunk_of_mem(block), 64 | PREV_INUSE);
    rung_free(block);
}
static void overwrite_link(void) {
    void *p = rung_malloc(100);
    rung_free(p);
    rung_free(block);
    block[0] = (void *)((uintptr_t)block[0] ^ 0x1008); /* decodes to something not aligned */
    rung_malloc(100);
}
static void overwrite_link_before_exit(void *unused) {
    (void)unused;
    void **p = rung_malloc(200);
    rung_free(p);
    p[0] = (void *)((uintptr_t)p[0] ^ 8);
}
static void exit_with_overwritten_link(void) {
    in_thread(overwrite_link_before_exit, NULL);
}
static void endless_list(void) {
    void *p = rung_malloc(100);
    rung_free(block);
    mask_next((struct cached *)block, (struct cached *)block);
    ((struct cached *)p)->key = cached_key;
    rung_free(p);
}

static void test_misuse(void **state) {
    (void)state;
    block = rung_malloc(100);
    assert_dies(free_twice, "free(): double free detected in tcache 2\n");
    assert_dies(free_twice_below_others, "free(): double free detected in tcache 2\n");
    assert_dies(free_twice_with_other_size, "free(): double free detected in tcache 2\n");
    assert_dies(overwrite_link, "malloc(): unaligned tcache chunk detected\n");
    assert_dies(exit_with_overwritten_link, "tcache_thread_shutdown(): unaligned tcache chunk detected\n");
    assert_dies(endless_list, "free(): too many chunks detected in tcache\n");
}

/* ---- row B7 ---- */

static void work_then_die(void *unused) {
    (void)unused;
    void *p[30];
    take(p, 30, 100);
    give(p, 30);
    assert_int_equal(counter_get(COUNT_TCACHES), 1);
}

static void test_end_of_a_thread(void **state) {
    (void)state;
    in_thread(work_then_die, NULL);
    assert_int_equal(counter_get(COUNT_TCACHES), 0);
    size_t meta = counter_get(COUNT_META_BYTES);
    for (int i = 0; i < 50; i++)
        in_thread(work_then_die, NULL);
    assert_int_equal(counter_get(COUNT_META_BYTES), meta); /* caches are returned */
    assert_int_equal(rung_mallinfo2().uordblks, 2112 + 48);
    assert_sound();
}

static void test_perturb(void **state) {
    (void)state;
    assume(OPT_PERTURB, 0x55);
    unsigned char *p = rung_malloc(1000);
    assert_ptr_equal(self.tcache, &tcache_disabled); /* so that every block is filled */
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(p[i], 0xaa);
    void *behind = rung_malloc(16);
    rung_free(p);
    for (size_t i = sizeof(struct link) * 2; i < 1000 - 8; i++)
        assert_int_equal(p[i], 0x55);
    unsigned char *q = rung_calloc(1000, 1);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(q[i], 0);
    assert_non_null(behind);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_ones),
        cmocka_unit_test(test_disabled_for_ever_after_a_failed_start),
        cmocka_unit_test(test_disabled_by_the_options),
        cmocka_unit_test(test_memalign_looks_at_the_whole_bin),
        cmocka_unit_test(test_depth_of_16),
        cmocka_unit_test(test_depth_of_65535),
        cmocka_unit_test(test_last_linear_bin),
        cmocka_unit_test(test_smaller_tcache_max),
        cmocka_unit_test(test_links_are_masked),
        cmocka_unit_test(test_key),
        cmocka_unit_test(test_bad_keys_are_stirred),
        cmocka_unit_test(test_large_bins_are_sorted),
        cmocka_unit_test(test_large_bins_end_at_4_mib),
        cmocka_unit_test(test_large_bins_have_a_depth),
        cmocka_unit_test(test_calloc_of_a_cached_block),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_end_of_a_thread),
        cmocka_unit_test(test_perturb),
    };
    return UNIT_RUN(tests);
}
