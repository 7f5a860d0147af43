// Row E2, FIELD 20: every entry point refuses what cannot be, with ENOMEM and before any rounding
// could wrap; a refused realloc leaves its block as it was.
#include "check.h"
#include <malloc.h>

static void *by_malloc(size_t n) {
    return malloc(n);
}
static void *by_calloc(size_t n) {
    return calloc(1, n);
}
static void *by_calloc_swapped(size_t n) {
    return calloc(n, 1);
}
static void *by_realloc_null(size_t n) {
    return realloc(NULL, n);
}
static void *by_reallocarray_null(size_t n) {
    return reallocarray(NULL, n, 1);
}
static void *by_memalign_8(size_t n) {
    return memalign(8, n);
}
static void *by_memalign_64(size_t n) {
    return memalign(64, n);
}
static void *by_memalign_huge(size_t n) {
    return memalign(opaque((size_t)1 << 40), n);
}
static void *by_aligned_alloc_16(size_t n) {
    return aligned_alloc(16, n);
}
static void *by_aligned_alloc_4096(size_t n) {
    return aligned_alloc(4096, n);
}
static void *by_valloc(size_t n) {
    return valloc(n);
}
static void *by_pvalloc(size_t n) {
    return pvalloc(n);
}

static const struct {
    const char *name;
    void *(*allocate)(size_t);
} functions[] = {
    {"malloc", by_malloc},
    {"calloc(1, n)", by_calloc},
    {"calloc(n, 1)", by_calloc_swapped},
    {"realloc(NULL, n)", by_realloc_null},
    {"reallocarray(NULL, n, 1)", by_reallocarray_null},
    {"memalign(8, n)", by_memalign_8},
    {"memalign(64, n)", by_memalign_64},
    {"memalign(2^40, n)", by_memalign_huge},
    {"aligned_alloc(16, n)", by_aligned_alloc_16},
    {"aligned_alloc(4096, n)", by_aligned_alloc_4096},
    {"valloc", by_valloc},
    {"pvalloc", by_pvalloc},
};

// Distances from SIZE_MAX and around PTRDIFF_MAX at which adding a header, an alignment or a page
// wraps or changes sign.
static const size_t offsets[] = {0,  1,  7,  8,  15,  16,   17,   23,   24,   31,    32,
                                 33, 63, 64, 65, 127, 4095, 4096, 4097, 8192, 65535, 1 << 20};

static void expect_refused(const char *name, const void *mem, size_t n) {
    CHECK(!mem, "%s gave %p for %#zx bytes", name, mem, n);
    CHECK(errno == ENOMEM, "%s of %#zx bytes set errno to %d, not ENOMEM", name, n, errno);
}

static void test_allocate(size_t n) {
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        errno = 0;
        void *mem = functions[f].allocate(n);
        expect_refused(functions[f].name, mem, n);
        free(mem);
    }
    void *mem = &mem;
    errno = 0;
    int status = posix_memalign(&mem, 64, n);
    CHECK(status == ENOMEM && errno == ENOMEM, "posix_memalign(64, %#zx) gave %d, errno %d, not ENOMEM", n, status, errno);
    CHECK(mem == &mem, "posix_memalign(64, %#zx) wrote the pointer", n);
}

// Small enough for a cache, an ordinary chunk, a mapping of its own, and an aligned block.
static void *block(int kind) {
    switch (kind) {
    case 0:
        return malloc(50);
    case 1:
        return malloc(5000);
    case 2:
        return malloc(1000000);
    default:
        return memalign(4096, 300);
    }
}

static void expect_intact(unsigned char *mem, size_t usable, int kind, size_t n) {
    CHECK(malloc_usable_size(mem) == usable, "kind %d: usable size %zu -> %zu", kind, usable,
          malloc_usable_size(mem));
    for (size_t i = 0; i < usable; i++)
        if (mem[i] != (unsigned char)(i * 7 + 1)) {
            CHECK(false, "kind %d: byte %zu changed by a refused realloc to %#zx", kind, i, n);
            break;
        }
}

static void test_realloc(size_t n) {
    for (int kind = 0; kind < 4; kind++) {
        unsigned char *mem = block(kind);
        size_t usable = malloc_usable_size(mem);
        for (size_t i = 0; i < usable; i++)
            mem[i] = (unsigned char)(i * 7 + 1);
        errno = 0;
        expect_refused("realloc", realloc(launder(mem), n), n);
        errno = 0;
        expect_refused("reallocarray", reallocarray(launder(mem), 1, n), n);
        errno = 0;
        expect_refused("reallocarray", reallocarray(launder(mem), n, 3), n);
        expect_intact(mem, usable, kind, n);
        free(mem);
    }
}

// Products that wrap to something small, to zero included.
static void test_products(void) {
    static const size_t pairs[][2] = {{SIZE_MAX / 2 + 1, 2},
                                      {SIZE_MAX, SIZE_MAX},
                                      {(size_t)1 << 33, (size_t)1 << 33},
                                      {((size_t)1 << 32) + 1, (size_t)1 << 32},
                                      {SIZE_MAX / 3 + 1, 3},
                                      {3, SIZE_MAX / 2},
                                      {(size_t)1 << 63, 2},
                                      {(size_t)1 << 62, 2}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        size_t a = pairs[i][0], b = pairs[i][1];
        errno = 0;
        expect_refused("calloc", calloc(a, b), a);
        errno = 0;
        expect_refused("reallocarray(NULL)", reallocarray(NULL, a, b), a);
        unsigned char *mem = malloc(100);
        memset(mem, 0x77, 100);
        errno = 0;
        expect_refused("reallocarray", reallocarray(launder(mem), a, b), a);
        for (int k = 0; k < 100; k++)
            if (mem[k] != 0x77) {
                CHECK(false, "a refused reallocarray changed byte %d", k);
                break;
            }
        free(mem);
    }
}

static void test_alignments(void) {
    for (int bit = 47; bit < 64; bit++) {
        size_t alignment = (size_t)1 << bit;
        errno = 0;
        expect_refused("memalign", memalign(alignment, 10), alignment);
        errno = 0;
        expect_refused("aligned_alloc", aligned_alloc(alignment, 10), alignment);
        void *mem = &mem;
        int status = posix_memalign(&mem, alignment, 10);
        CHECK(status == ENOMEM && mem == &mem, "posix_memalign(2^%d) gave %d", bit, status);
    }
}

int main(void) {
    require_rung();
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        size_t sizes[] = {SIZE_MAX - offsets[i], (size_t)PTRDIFF_MAX + 1 + offsets[i],
                          (size_t)PTRDIFF_MAX - offsets[i]};
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            test_allocate(sizes[k]);
            test_realloc(sizes[k]);
        }
    }
    test_products();
    test_alignments();
    check_heap("at the end");
    return check_result();
}
