// FIELD 10: a preloaded library that allocates in its very first constructor and in its very last
// destructor, before the allocator had any of its own run and after. early_calls_main.c checks and
// frees what it left.
#include "workout.h"

void *early_blocks[100];
size_t early_size(size_t i);

size_t early_size(size_t i) {
    return i * i * 7 + 1; // 1 byte to 68 KB
}

static void *in_between[50];

__attribute__((constructor(101))) static void first(void) {
    for (size_t i = 0; i < 100; i++) {
        size_t size = early_size(i);
        unsigned char *mem = i % 3 == 0   ? malloc(size)
                             : i % 3 == 1 ? calloc(1, size)
                                          : memalign(64, size);
        REQUIRE(mem, "no memory in the first constructor: errno %d", errno);
        if (i % 3 == 1)
            workout_verify(mem, 0, size, 0, "calloc in the first constructor");
        memset(mem, (int)i, size);
        mem = realloc(mem, size + 100);
        REQUIRE(mem, "realloc failed in the first constructor: errno %d", errno);
        early_blocks[i] = mem;
        in_between[i / 2] = malloc(40);
        if (i % 2)
            free(in_between[i / 2]);
    }
    use_every_class();
}

// Priority 101 is the last to run.
__attribute__((destructor(101))) static void last(void) {
    use_every_class();
    for (size_t i = 0; i < 100; i++)
        free(early_blocks[i]);
    void *mem = malloc(100000);
    if (!mem || check_failures) {
        say("calls in the last destructor failed");
        _exit(1);
    }
    free(mem);
}
