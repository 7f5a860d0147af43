// Row E2: a request of no bytes gives a pointer of its own, from every function that allocates;
// realloc to no bytes frees.
#include "check.h"
#include <malloc.h>

static void *by_malloc(void) {
    return malloc(0);
}
static void *by_calloc(void) {
    return calloc(0, 0);
}
static void *by_calloc_of_none(void) {
    return calloc(0, opaque(SIZE_MAX));
}
static void *by_calloc_of_nothing(void) {
    return calloc(opaque(SIZE_MAX), 0);
}
static void *by_realloc(void) {
    return realloc(NULL, 0);
}
static void *by_reallocarray(void) {
    return reallocarray(NULL, 0, opaque(SIZE_MAX));
}
static void *by_memalign(void) {
    return memalign(64, 0);
}
static void *by_aligned_alloc(void) {
    return aligned_alloc(4096, 0);
}
static void *by_posix_memalign(void) {
    void *mem = NULL;
    CHECK(posix_memalign(&mem, 256, 0) == 0, "posix_memalign(256, 0)");
    return mem;
}
static void *by_valloc(void) {
    return valloc(0);
}
static void *by_pvalloc(void) {
    return pvalloc(0);
}

static const struct {
    const char *name;
    void *(*allocate)(void);
} functions[] = {
    {"malloc", by_malloc},
    {"calloc(0, 0)", by_calloc},
    {"calloc(0, n)", by_calloc_of_none},
    {"calloc(n, 0)", by_calloc_of_nothing},
    {"realloc(NULL, 0)", by_realloc},
    {"reallocarray(NULL, 0, n)", by_reallocarray},
    {"memalign", by_memalign},
    {"aligned_alloc", by_aligned_alloc},
    {"posix_memalign", by_posix_memalign},
    {"valloc", by_valloc},
    {"pvalloc", by_pvalloc},
};

enum { FUNCTIONS = sizeof functions / sizeof *functions, EACH = 50 };

// Each of the blocks is written in full; an address given twice would show as a foreign mark.
static void test_unique(void) {
    static unsigned char *mem[FUNCTIONS][EACH];
    for (size_t f = 0; f < FUNCTIONS; f++)
        for (size_t i = 0; i < EACH; i++) {
            mem[f][i] = launder(functions[f].allocate());
            REQUIRE(mem[f][i], "%s gave NULL", functions[f].name);
            CHECK((uintptr_t)mem[f][i] % 16 == 0, "%s gave %p", functions[f].name,
                  (void *)mem[f][i]);
            memset(mem[f][i], (int)(f * EACH + i) & 0xff, malloc_usable_size(mem[f][i]));
        }
    for (size_t f = 0; f < FUNCTIONS; f++)
        for (size_t i = 0; i < EACH; i++) {
            size_t usable = malloc_usable_size(mem[f][i]);
            CHECK(usable >= (size_t)(option_value("runs") ? 16 : 24),
                  "%s: %zu bytes usable, the smallest object has 16, the smallest chunk 24",
                  functions[f].name, usable);
            for (size_t k = 0; k < usable; k++)
                if (mem[f][i][k] != (unsigned char)(f * EACH + i)) {
                    CHECK(false, "%s: block %zu is shared", functions[f].name, i);
                    break;
                }
            free(mem[f][i]);
        }
}

// A realloc to nothing that kept the block would show as memory in use.
static void test_realloc_frees(size_t size, bool array) {
    free(malloc(size));
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int i = 0; i < 2000; i++) {
        void *mem = malloc(size);
        errno = 4711;
        void *none = array ? reallocarray(mem, 0, 8) : realloc(mem, 0);
        CHECK(!none, "realloc(%zu bytes, 0) gave %p", size, none);
        CHECK(errno == 4711, "realloc(%zu bytes, 0) set errno to %d", size, errno);
    }
    size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    CHECK(after <= before + 20 * (size + 32),
          "%zu bytes in use before, %zu after: realloc(p, 0) does not free", before, after);
}

int main(void) {
    require_rung();
    test_unique();
    for (size_t size = 0; size < 2000000; size = size * 3 + 8) {
        test_realloc_frees(size, false);
        test_realloc_frees(size, true);
    }
    check_heap("at the end");
    return check_result();
}
