// Row E1: every function of the interface, under each of its names, belongs to the library and
// works: what one of them allocates every other one can measure, grow and free.
#include "check.h"
#include <malloc.h>

static void *find(const char *name) {
    void *f = dlsym(RTLD_DEFAULT, name);
    if (on_host_malloc())
        return f;
    CHECK(f, "%s is missing", name);
    CHECK(!f || comes_from_rung(name), "%s is not the library's own", name);
    return f;
}

// dlsym gives an object pointer; ISO C has no cast from there to a function.
#define FUNCTION(type, name)                                                                       \
    __typeof__(type) f = NULL;                                                                     \
    void *found = find(name);                                                                      \
    memcpy(&f, &found, sizeof f);                                                                  \
    if (!f)                                                                                        \
    return

typedef void *(*one_size)(size_t);
typedef void *(*two_sizes)(size_t, size_t);
typedef void (*release)(void *);

// Fills, measures, grows and frees a fresh block of at least `size` bytes at a multiple of
// `alignment`.
static void exercise(const char *name, void *mem, size_t size, size_t alignment) {
    mem = launder(mem);
    CHECK(mem, "%s returned NULL", name);
    if (!mem)
        return;
    CHECK((uintptr_t)mem % alignment == 0, "%s: %p is not a multiple of %zu", name, mem, alignment);
    CHECK(malloc_usable_size(mem) >= size, "%s: usable size %zu < %zu", name,
          malloc_usable_size(mem), size);
    memset(mem, 0x5a, size);
    unsigned char *grown = realloc(mem, size + 4000);
    CHECK(grown, "realloc of a block of %s failed", name);
    for (size_t i = 0; grown && i < size; i++)
        if (grown[i] != 0x5a) {
            CHECK(false, "realloc of a block of %s lost byte %zu", name, i);
            break;
        }
    free(grown ? grown : mem);
}

static void test_one_size(const char *name, size_t alignment) {
    FUNCTION(one_size, name);
    for (size_t size = 1; size < 300000; size = size * 3 + 1)
        exercise(name, f(size), size, alignment);
}

static void test_two_sizes(const char *name, size_t first, size_t alignment) {
    FUNCTION(two_sizes, name);
    for (size_t size = 1; size < 300000; size = size * 3 + 1)
        exercise(name, f(first, size), size, alignment);
}

static void test_release(const char *name) {
    FUNCTION(release, name);
    f(NULL);
    for (size_t size = 1; size < 300000; size = size * 3 + 1) {
        void *mem = malloc(size);
        memset(mem, 1, size);
        f(mem);
    }
}

static void test_calloc(const char *name) {
    FUNCTION(two_sizes, name);
    for (size_t size = 1; size < 300000; size = size * 3 + 1) {
        void *dirty = malloc(size);
        memset(dirty, 0xff, size);
        free(dirty);
        unsigned char *mem = f(1, size);
        for (size_t i = 0; mem && i < size; i++)
            if (mem[i]) {
                CHECK(false, "%s(1, %zu): byte %zu is not zero", name, size, i);
                break;
            }
        exercise(name, mem, size, 16);
    }
}

static void test_realloc(const char *name) {
    FUNCTION(void *(*)(void *, size_t), name);
    exercise(name, f(NULL, 100), 100, 16);
    exercise(name, f(malloc(100), 5000), 5000, 16);
    exercise(name, f(malloc(5000), 100), 100, 16);
}

static void test_reallocarray(const char *name) {
    FUNCTION(void *(*)(void *, size_t, size_t), name);
    exercise(name, f(NULL, 10, 10), 100, 16);
    exercise(name, f(malloc(10), 50, 100), 5000, 16);
}

static void test_posix_memalign(const char *name) {
    FUNCTION(int (*)(void **, size_t, size_t), name);
    for (size_t alignment = sizeof(void *); alignment <= 1 << 20; alignment *= 2) {
        void *mem = NULL;
        CHECK(f(&mem, alignment, 100) == 0, "%s(%zu, 100)", name, alignment);
        exercise(name, mem, 100, alignment);
    }
}

static void test_free_sized(void) {
    FUNCTION(void (*)(void *, size_t), "free_sized");
    f(NULL, 0);
    f(NULL, 100);
    for (size_t size = 1; size < 300000; size = size * 3 + 1)
        f(malloc(size), size);
}

static void test_free_aligned_sized(void) {
    FUNCTION(void (*)(void *, size_t, size_t), "free_aligned_sized");
    f(NULL, 64, 0);
    for (size_t size = 64; size < 300000; size *= 2)
        f(aligned_alloc(64, size), 64, size);
}

static void test_memalignment(void) {
    FUNCTION(size_t(*)(const void *), "memalignment");
    CHECK(f(NULL) == 0, "memalignment(NULL) is %zu", f(NULL));
    for (int bit = 0; bit < 64; bit++) {
        size_t address = (size_t)1 << bit;
        CHECK(f((void *)address) == address, "memalignment(1 << %d) is %zu", bit,
              f((void *)address));
        size_t odd = address | address << 1 | (size_t)1 << 63;
        size_t want = odd & -odd;
        CHECK(f((void *)odd) == want, "memalignment(%#zx) is %zu", odd, f((void *)odd));
    }
}

static void test_usable_size(const char *name) {
    FUNCTION(size_t(*)(void *), name);
    void *mem = malloc(100);
    CHECK(f(NULL) == 0, "%s(NULL) is %zu", name, f(NULL));
    size_t want = option_value("runs") ? 112 : 104; // a size class has 112, a chunk of 112 has 8 less
    CHECK(f(mem) == want, "%s of a request of 100 is %zu, not %zu", name, f(mem), want);
    free(mem);
}

static void test_reports(const char *mallinfo2_name, const char *mallopt_name,
                         const char *trim_name) {
    struct mallinfo2 (*info)(void) = NULL;
    int (*set)(int, int) = NULL, (*trim)(size_t) = NULL;
    void *f = find(mallinfo2_name), *g = find(mallopt_name), *h = find(trim_name);
    memcpy(&info, &f, sizeof info);
    memcpy(&set, &g, sizeof set);
    memcpy(&trim, &h, sizeof trim);
    void *mem = malloc(50000);
    if (info) {
        struct mallinfo2 before = info();
        void *more = malloc(60000);
        size_t usable = malloc_usable_size(more);
        size_t want = without_header(usable) ? usable : chunk_size(more);
        CHECK(info().uordblks - before.uordblks == want,
              "%s does not count this heap: %zu -> %zu", mallinfo2_name, before.uordblks,
              info().uordblks);
        free(more);
    }
    if (set)
        CHECK(set(M_MXFAST, 64) == 1, "%s(M_MXFAST) is not 1", mallopt_name);
    if (trim)
        trim(0);
    free(mem);
}

int main(void) {
    require_rung();
    static const char *const plain[] = {"malloc", "__libc_malloc"};
    static const char *const pages[] = {"valloc", "__libc_valloc", "pvalloc", "__libc_pvalloc"};
    static const char *const aligned[] = {"memalign", "__libc_memalign", "aligned_alloc"};
    static const char *const frees[] = {"free", "__libc_free", "cfree"};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        test_one_size(plain[i], 16);
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        test_one_size(pages[i], page);
    for (size_t i = 0; i < sizeof aligned / sizeof *aligned; i++)
        for (size_t alignment = 8; alignment <= 1 << 20; alignment *= 2)
            test_two_sizes(aligned[i], alignment, alignment < 16 ? 16 : alignment);
    for (size_t i = 0; i < sizeof frees / sizeof *frees; i++)
        test_release(frees[i]);
    test_calloc("calloc");
    test_calloc("__libc_calloc");
    test_realloc("realloc");
    test_realloc("__libc_realloc");
    test_reallocarray("reallocarray");
    test_reallocarray("__libc_reallocarray");
    test_posix_memalign("posix_memalign");
    test_posix_memalign("__posix_memalign");
    test_free_sized();
    test_free_aligned_sized();
    test_memalignment();
    test_usable_size("malloc_usable_size");
    test_reports("mallinfo2", "mallopt", "malloc_trim");
    test_reports("mallinfo2", "__libc_mallopt", "malloc_trim");
    static const char *const others[] = {"mallinfo", "__libc_mallinfo", "malloc_stats",
                                         "malloc_info"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        find(others[i]);
    check_heap("at the end");
    return check_result();
}
