// Row E2: realloc keeps the bytes, and does not move a block for a size it already has room for.
#include "check.h"
#include <malloc.h>

static unsigned char mark(size_t i, size_t salt) {
    return (unsigned char)(i * 131 + (i >> 8) * 17 + salt);
}

static void fill(unsigned char *mem, size_t from, size_t to, size_t salt) {
    for (size_t i = from; i < to; i++)
        mem[i] = mark(i, salt);
}

static void expect_bytes(const unsigned char *mem, size_t n, size_t salt, const char *what) {
    for (size_t i = 0; i < n; i++)
        if (mem[i] != mark(i, salt)) {
            CHECK(false, "%s: byte %zu of %zu is %#x", what, i, n, mem[i]);
            return;
        }
}

// Every size from the request to the usable size is served in place, through realloc and
// reallocarray.
static void test_never_moves(void *mem, size_t size) {
    REQUIRE(mem, "no memory for %zu bytes", size);
    if (on_host_malloc() && is_mapped(mem)) { // older releases grow such a mapping by a page
        free(mem);
        return;
    }
    size_t usable = malloc_usable_size(mem);
    for (size_t n = size; n <= usable; n += usable - n > 64 ? 64 : 1) {
        void *same = launder(realloc(launder(mem), n));
        CHECK(same == mem, "realloc of %zu usable bytes to %zu moved %p to %p", usable, n, mem,
              same);
        if (same != mem) {
            free(same);
            return;
        }
    }
    CHECK(malloc_usable_size(mem) >= size, "usable size fell to %zu", malloc_usable_size(mem));
    void *same = launder(reallocarray(launder(mem), 1, malloc_usable_size(mem)));
    CHECK(same == mem, "reallocarray to the usable size moved the block");
    free(same);
}

static void test_pairs(void) {
    static const size_t sizes[] = {1,    24,    25,     100,    1032,    1033,
                                   4000, 65000, 131000, 200000, 1000000, 5000000};
    enum { N = sizeof sizes / sizeof *sizes };
    for (size_t from = 0; from < N; from++)
        for (size_t to = 0; to < N; to++)
            for (int aligned = 0; aligned < 2; aligned++) {
                unsigned char *mem = aligned ? memalign(1024, sizes[from]) : malloc(sizes[from]);
                void *behind = malloc(50); // so that growth cannot always go on into top
                fill(mem, 0, sizes[from], from);
                mem = realloc(mem, sizes[to]);
                REQUIRE(mem, "realloc %zu -> %zu failed", sizes[from], sizes[to]);
                expect_bytes(mem, sizes[from] < sizes[to] ? sizes[from] : sizes[to], from,
                             "after realloc");
                fill(mem, 0, malloc_usable_size(mem), to);
                expect_bytes(mem, malloc_usable_size(mem), to, "all of it");
                free(behind);
                free(mem);
            }
}

// One block wanders through random sizes with neighbours coming and going.
static void test_wander(uint64_t seed) {
    enum { NEIGHBOURS = 64 };
    void *neighbour[NEIGHBOURS] = {0};
    unsigned char *mem = NULL;
    size_t size = 0;
    for (int step = 0; step < share_of(20000); step++) {
        size_t n = next_random(&seed) % (next_random(&seed) % 16 == 0 ? 400000 : 3000) + 1;
        unsigned char *moved = realloc(mem, n);
        REQUIRE(moved, "step %d: realloc to %zu failed", step, n);
        expect_bytes(moved, size < n ? size : n, 0, "wandering block");
        mem = moved;
        size = n;
        fill(mem, 0, size, 0);
        void **other = &neighbour[next_random(&seed) % NEIGHBOURS];
        free(*other);
        size_t m = next_random(&seed) % 3000;
        *other = malloc(m);
        memset(*other, 0xee, m);
        if (check_failures)
            break;
    }
    free(mem);
    for (int i = 0; i < NEIGHBOURS; i++)
        free(neighbour[i]);
}

int main(void) {
    require_rung();
    uint64_t seed = seed_from_environment(20260120);
    const size_t step = 3000 / (size_t)share_of(3000);
    for (size_t size = 1; size < 3000; size += step)
        test_never_moves(malloc(size), size);
    for (size_t size = 3000; size < 5000000; size = size * 5 / 4) {
        test_never_moves(malloc(size), size);
        test_never_moves(memalign(4096, size), size);
    }
    test_pairs();
    test_wander(seed);
    check_heap("at the end");
    return check_result();
}
