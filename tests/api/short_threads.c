// FIELD 7: 20,000 threads of 64 malloc and 64 free, one after another, leave nothing behind; a
// large block of a dead thread, freed elsewhere, goes back to the system.
#include "growth.h"

static void *short_life(void *unused) {
    void *mem[64];
    for (size_t i = 0; i < 64; i++) {
        mem[i] = malloc(16 + i * 37);
        memset(mem[i], 1, 16 + i * 37);
    }
    for (size_t i = 0; i < 64; i++)
        free(mem[i]);
    return unused;
}

// What a thread leaves is freed by the next one.
static void *left_over[64];

static void *inheriting_life(void *unused) {
    for (size_t i = 0; i < 64; i++) {
        free(left_over[i]);
        left_over[i] = malloc(16 + i * 37);
        memset(left_over[i], 1, 16 + i * 37);
    }
    return unused;
}

static void *large_block(void *unused) {
    (void)unused;
    void *mem = malloc(64 << 20);
    REQUIRE(mem, "no memory");
    memset(mem, 1, 64 << 20);
    return mem;
}

static void test_large_block_of_a_dead_thread(void) {
    for (int i = 0; i < 5; i++) {
        pthread_t t;
        void *mem;
        long before = status_kib("VmRSS");
        REQUIRE(pthread_create(&t, NULL, large_block, NULL) == 0, "no thread");
        pthread_join(t, &mem);
        long held = status_kib("VmRSS") - before;
        free(mem);
        if (i > 0) // a program that does it again may be believed to go on, and the block waits
            malloc_trim(0);
        long left = status_kib("VmRSS") - before;
        CHECK(held >= 64 << 10, "64 MiB were touched, %ld KiB are resident", held);
        CHECK(left < 1024, "%ld of %ld KiB of a dead thread's block stay", left, held);
    }
}

int main(void) {
    require_rung();
    const int one_by_one = share_of(18000), four_at_a_time = share_of(4000), heirs = share_of(3000);
    run_threads(short_life, 2000, 1);
    struct memory before = memory_now();
    run_threads(short_life, one_by_one, 1);
    expect_no_growth(&before, one_by_one, 1);
    run_threads(short_life, 400, 4);
    before = memory_now();
    run_threads(short_life, four_at_a_time, 4);
    expect_no_growth(&before, four_at_a_time, 4);
    run_threads(inheriting_life, 500, 1);
    before = memory_now();
    run_threads(inheriting_life, heirs, 1);
    expect_no_growth(&before, heirs, 1);
    test_large_block_of_a_dead_thread();
    check_heap("at the end");
    return check_result();
}
