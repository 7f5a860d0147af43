// Row E2: free never changes errno, whatever it sets in motion: a cache push, coalescing, a trim,
// an unmapped block, a whole sub-heap, the first call of a thread.
#include "check.h"
#include <malloc.h>
#include <pthread.h>

static void expect_unchanged(const char *what, size_t size) {
    CHECK(errno == 4711, "free of %s (%zu bytes) set errno to %d", what, size, errno);
    errno = 4711;
}

static void free_all_kinds(void) {
    errno = 4711;
    free(NULL);
    expect_unchanged("NULL", 0);
    for (size_t size = 1; size < (size_t)200 << 20; size = size * 2 + 1) {
        void *mem = malloc(size);
        errno = 4711;
        free(mem);
        expect_unchanged("a block", size);
        mem = memalign(256, size);
        errno = 4711;
        free(mem);
        expect_unchanged("an aligned block", size);
    }
}

// Many blocks, freed from the end, so that top grows and is trimmed again and again.
static void free_until_trimmed(size_t size, size_t count) {
    void **mem = malloc(count * sizeof *mem);
    REQUIRE(mem, "no memory for %zu pointers", count);
    for (size_t i = 0; i < count; i++) {
        mem[i] = malloc(size);
        REQUIRE(mem[i], "no memory for block %zu", i);
        memset(mem[i], 1, size);
    }
    errno = 4711;
    for (size_t i = count; i-- > 0;) {
        free(mem[i]);
        expect_unchanged("one of many blocks", size);
    }
    free(mem);
    expect_unchanged("the table", count * sizeof *mem);
}

static void *free_first(void *mem) {
    errno = 4711;
    free(mem);
    expect_unchanged("another thread's block as the first call", 64);
    free_until_trimmed(2000, 40000); // two sub-heaps of a secondary arena; the second is unmapped
    return NULL;
}

int main(void) {
    require_rung();
    free_all_kinds();
    free_until_trimmed(100000, 300);
    free_until_trimmed(700, 20000);
    pthread_t t;
    REQUIRE(pthread_create(&t, NULL, free_first, malloc(64)) == 0, "no thread");
    pthread_join(t, NULL);
    check_heap("at the end");
    return check_result();
}
