// Row E2: every pointer is 16-byte aligned, aligned requests get what they ask for, and each
// function treats an alignment it cannot serve in its own way.
#include "check.h"
#include <malloc.h>

static void test_always_16(void) {
    void *kept[6] = {0};
    const size_t step = 6000 / (size_t)share_of(6000);
    for (size_t size = 0; size < 6000; size += step) {
        void *mem[6] = {malloc(size),      calloc(1, size), realloc(NULL, size),
                        memalign(2, size), valloc(size),    malloc(size * 50)};
        for (int i = 0; i < 6; i++) {
            mem[i] = launder(mem[i]);
            CHECK(mem[i] && (uintptr_t)mem[i] % 16 == 0, "function %d, size %zu: %p", i, size,
                  mem[i]);
            void *grown = launder(realloc(mem[i], size * 2 + 1));
            CHECK((uintptr_t)grown % 16 == 0, "realloc of function %d to %zu: %p", i, size * 2 + 1,
                  grown);
            free(kept[i]);
            kept[i] = grown;
        }
    }
    for (int i = 0; i < 6; i++)
        free(kept[i]);
}

static void expect_aligned(const char *what, void *mem, size_t alignment, size_t size) {
    mem = launder(mem);
    CHECK(mem, "%s(%zu, %zu) failed: errno %d", what, alignment, size, errno);
    if (!mem)
        return;
    CHECK((uintptr_t)mem % alignment == 0, "%s(%zu, %zu): %p", what, alignment, size, mem);
    CHECK(malloc_usable_size(mem) >= size, "%s(%zu, %zu): only %zu usable", what, alignment, size,
          malloc_usable_size(mem));
    memset(mem, 0xa5, malloc_usable_size(mem));
    free(mem);
}

static void test_powers_of_two(void) {
    for (size_t alignment = 1; alignment <= (size_t)64 << 20; alignment *= 2)
        for (size_t size = 0; size < 1000000; size = size * 7 + 1) {
            expect_aligned("memalign", memalign(alignment, size), alignment, size);
            expect_aligned("aligned_alloc", aligned_alloc(alignment, size), alignment, size);
            void *mem = NULL;
            int status = posix_memalign(&mem, alignment, size);
            if (alignment < sizeof(void *)) {
                CHECK(status == EINVAL && !mem, "posix_memalign(%zu) gave %d", alignment, status);
                continue;
            }
            CHECK(status == 0, "posix_memalign(%zu, %zu) gave %d", alignment, size, status);
            expect_aligned("posix_memalign", mem, alignment, size);
        }
}

static const size_t not_powers[] = {3,  5,  6,    7,    12,   17,    20,    24,    33,
                                    48, 96, 1000, 4095, 4097, 12288, 65537, 100000};

static void test_memalign_rounds_up(void) {
    for (size_t i = 0; i < sizeof not_powers / sizeof *not_powers; i++) {
        size_t up = 16;
        while (up < not_powers[i])
            up *= 2;
        for (int k = 0; k < 8; k++)
            expect_aligned("memalign", memalign(not_powers[i], 100), up, 100);
    }
    expect_aligned("memalign", memalign(opaque(0), 100), 16, 100);
}

static void test_refusals(void) {
    static const size_t others[] = {0, (size_t)3 << 20, ((size_t)1 << 62) + 1, SIZE_MAX,
                                    SIZE_MAX - 1};
    for (size_t i = 0; i < sizeof not_powers / sizeof *not_powers + sizeof others / sizeof *others;
         i++) {
        size_t n = sizeof not_powers / sizeof *not_powers;
        size_t alignment = i < n ? not_powers[i] : others[i - n];
        void *mem = &mem;
        errno = 4711;
        int status = posix_memalign(&mem, alignment, 100);
        CHECK(status == EINVAL, "posix_memalign(%zu) gave %d, not EINVAL", alignment, status);
        CHECK(errno == 4711, "posix_memalign(%zu) set errno to %d", alignment, errno);
        CHECK(mem == &mem, "posix_memalign(%zu) wrote the pointer", alignment);
        if (on_host_malloc()) // since glibc 2.38
            continue;
        errno = 0;
        mem = aligned_alloc(alignment, 100);
        CHECK(!mem, "aligned_alloc(%zu) gave %p", alignment, mem);
        CHECK(errno == EINVAL, "aligned_alloc(%zu) set errno to %d, not EINVAL", alignment, errno);
        free(mem);
    }
    errno = 0;
    CHECK(!memalign(opaque(SIZE_MAX / 2 + 2), 100) && errno == EINVAL,
          "memalign(SIZE_MAX / 2 + 2): errno %d", errno);
}

// valloc and pvalloc give pages; pvalloc whole ones.
static void test_pages(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t size = 1; size < 1000000; size = size * 5 + 3) {
        expect_aligned("valloc", valloc(size), page, size);
        expect_aligned("pvalloc", pvalloc(size), page, (size + page - 1) / page * page);
    }
}

// Cached blocks of the right size but of the wrong alignment must not be handed out.
static void test_cached_blocks(void) {
    for (int round = 0; round < 50; round++) {
        void *mem[40];
        for (int i = 0; i < 40; i++)
            mem[i] = malloc(100);
        for (int i = 0; i < 40; i++)
            free(mem[i]);
        for (size_t alignment = 32; alignment <= 4096; alignment *= 2)
            expect_aligned("memalign", memalign(alignment, 100), alignment, 100);
    }
}

int main(void) {
    require_rung();
    test_always_16();
    test_powers_of_two();
    test_memalign_rounds_up();
    test_refusals();
    test_pages();
    test_cached_blocks();
    check_heap("at the end");
    return check_result();
}
