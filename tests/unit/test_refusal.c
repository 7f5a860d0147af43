/* Requests that no memory given back could serve: they are refused at once, and take nothing from anybody. */
#include <errno.h>
#include <string.h>

#include "base/counter.h"
#include "cache/cpu_cache.h"
#include "chunk/footprint.h"
#include "unit.h"

/* Something of everything that a refusal could empty. */
static void fill_caches(void) {
    enum { N = 200 };
    void *p[N];
    for (size_t size = 16; size < 256 * KIB; size *= 2) {
        take(p, N, size);
        give(p, N);
    }
    take(p, 4, 40 * MIB);
    give(p, 4);
}

struct kept {
    size_t cached, mapped, footprint;
};

static struct kept kept(void) {
    return (struct kept){cache_bytes(cache_numbered(cache_number())), counter_get(COUNT_MAPPED_KEPT), footprint()};
}

static size_t calls(void) {
    return counter_get(COUNT_SYS_MMAP) + counter_get(COUNT_SYS_MUNMAP) + counter_get(COUNT_SYS_MADVISE) +
           counter_get(COUNT_SYS_MREMAP) + counter_get(COUNT_SYS_BRK);
}

static void assert_refused_at_once(void *(*ask)(size_t), size_t req) {
    struct kept before = kept();
    size_t calls_before = calls();
    errno = 0;
    assert_null(ask(req));
    if (req >= (size_t)1 << 40)
        assert_in_range(calls() - calls_before, 0, 3);
    assert_int_equal(errno, ENOMEM);
    struct kept after = kept();
    assert_memory_equal(&before, &after, sizeof before);
}

static unsigned char *block;

static void *by_realloc(size_t req) {
    return rung_realloc(block, req);
}
static void *by_calloc(size_t req) {
    return rung_calloc(1, req);
}
static void *by_memalign(size_t req) {
    return rung_memalign(4096, req);
}
static void *by_alignment(size_t align) {
    return rung_memalign((size_t)1 << log2_floor(align), 100);
}

static void test_nobody_gives_anything_for_it(void **state) {
    (void)state;
    option_use_profile(PROFILE_DEFAULT);
    block = rung_malloc(400 * MIB); /* beside which 50 MiB may wait for reuse */
    assert_non_null(block);
    fill_caches();
    assert_true(kept().cached > 0);
    assert_true(kept().mapped >= 40 * MIB);
    double_limit(1000 * MIB);
    for (size_t req = 4096 * MIB; req < PTRDIFF_MAX / 2; req *= 8) {
        assert_refused_at_once(rung_malloc, req);
        assert_refused_at_once(by_calloc, req);
        assert_refused_at_once(by_realloc, req);
        assert_refused_at_once(by_memalign, req);
        assert_refused_at_once(by_alignment, req);
    }
    /* But one that what is free can serve is served. */
    struct kept before = kept();
    double_limit(accounted_bytes());
    void *p = rung_malloc(before.mapped - MIB);
    assert_non_null(p);
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_gives_anything_for_it),
    };
    return UNIT_RUN(tests);
}
