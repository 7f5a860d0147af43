// FIELD 23: calloc of fresh memory touches none of it; calloc of used memory clears it, wherever
// the memory comes from.
#include "check.h"
#include <malloc.h>
#include <pthread.h>

static void test_untouched(void) {
    long before = status_kib("VmRSS");
    unsigned char *mem = calloc(1, (size_t)1 << 30);
    if (!mem)
        SKIP("no GiB of address space: errno %d", errno);
    mem[(size_t)1 << 29] = 1;
    long grown = status_kib("VmRSS") - before;
    CHECK(grown < 4096, "calloc(1 GiB) and one byte made %ld KiB resident", grown);
    size_t step = 1 << 16;
    for (size_t i = 0; i < (size_t)1 << 30;
         i += step * 256) // reading maps the zero page, not memory
        CHECK(mem[i] == (i == (size_t)1 << 29), "byte %zu is %d", i, mem[i]);
    free(mem);
}

static void expect_zero(const unsigned char *mem, size_t n, const char *what) {
    for (size_t i = 0; i < n; i++)
        if (mem[i]) {
            CHECK(false, "%s: byte %zu of %zu is %#x", what, i, n, mem[i]);
            return;
        }
}

// Dirty blocks of every size go and come again, by way of the caches, the bins, top, and memory
// given back and taken again.
static void *test_reused(void *unused) {
    enum { BLOCKS = 100 };
    static __thread unsigned char *mem[BLOCKS];
    for (size_t size = 1; size < 3000000; size = size * 3 / 2 + 1)
        for (int round = 0; round < 3; round++) {
            size_t n = size > 300000 ? 3 : BLOCKS;
            for (size_t i = 0; i < n; i++) {
                mem[i] = calloc(i % 2 ? size : 1, i % 2 ? 1 : size);
                REQUIRE(mem[i], "no memory");
                expect_zero(mem[i], size, "calloc of reused memory");
                memset(mem[i], 0xff, malloc_usable_size(mem[i]));
            }
            for (size_t i = 0; i < n; i++)
                free(mem[(i * 7) % n]);
            if (round == 1)
                malloc_trim(0);
        }
    return unused;
}

int main(void) {
    require_rung();
    test_untouched();
    test_reused(NULL);
    pthread_t t;
    REQUIRE(pthread_create(&t, NULL, test_reused, NULL) == 0, "no thread");
    pthread_join(t, NULL);
    test_untouched(); // the mapping threshold has risen meanwhile
    check_heap("at the end");
    return check_result();
}
