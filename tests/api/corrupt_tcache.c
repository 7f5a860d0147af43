// Row E5: double frees and broken links among a thread's cached chunks (rows B3 and B4).
#include "corrupt.h"

enum { SMALL = 72 };

static void twice(void) {
    PLACE(mem, SMALL, GUARD);
    free(mem[0]);
    free(launder(mem[0]));
}

static void twice_with_others_between(void) {
    PLACE(mem, SMALL, SMALL, SMALL, SMALL, SMALL, GUARD);
    for (int i = 0; i < 5; i++)
        free(mem[i]);
    free(launder(mem[1]));
}

static void twice_with_a_thousand_between(void) {
    static void *mem[1200];
    for (int i = 0; i < 1200; i++)
        mem[i] = malloc(SMALL);
    for (int i = 0; i < 1200; i++)
        free(mem[i]);
    free(launder(mem[3]));
}

// The second free looks in the bin of the size it reads; the block lies in another one.
static void twice_under_another_size(void) {
    PLACE(mem, SMALL, GUARD);
    free(mem[0]);
    *size_field(mem[0]) += 64;
    free(launder(mem[0]));
}

static void *(*volatile allocate_again)(size_t);

// Links the cached block to an address off by a word; the second pop finds it there.
static void pop_unaligned(void) {
    PLACE(mem, SMALL, SMALL, GUARD);
    free(mem[0]);
    free(mem[1]);
    words(mem[1])[0] = mangle(mem[1], (char *)mem[0] + 8);
    for (int i = 0; i < 2; i++)
        REQUIRE(allocate_again(SMALL), "NULL");
}

static void malloc_unaligned(void) {
    allocate_again = malloc;
    pop_unaligned();
}

static void *calloc_one(size_t n) {
    return calloc(1, n);
}

static void calloc_unaligned(void) {
    allocate_again = calloc_one;
    pop_unaligned();
}

// The key in a block that is not cached makes free walk the caches: here one that runs in a
// circle...
static void circle(void) {
    PLACE(mem, SMALL, SMALL, GUARD);
    free(mem[0]);
    words(mem[0])[0] = mangle(mem[0], mem[0]);
    words(mem[1])[1] = words(mem[0])[1];
    free(mem[1]);
}

// ... and here one that leads off by a word.
static void walk_unaligned(void) {
    PLACE(mem, SMALL, SMALL, GUARD);
    free(mem[0]);
    words(mem[0])[0] = mangle(mem[0], (char *)mem[0] + 8);
    words(mem[1])[1] = words(mem[0])[1];
    free(mem[1]);
}

// Nothing looks at the link before the thread ends and its cache is emptied.
static void thread_end_unaligned(void) {
    PLACE(mem, SMALL, SMALL, GUARD);
    free(mem[0]);
    free(mem[1]);
    words(mem[1])[0] = mangle(mem[1], (char *)mem[0] + 8);
}

static const char double_free[] = "free(): double free detected in tcache 2";
static const char bad_pop[] = "malloc(): unaligned tcache chunk detected";

static const struct misuse cases[] = {
    {"twice", twice, double_free, 0},
    {"twice with others between", twice_with_others_between, double_free, 0},
    {"twice with a thousand between", twice_with_a_thousand_between, double_free, 0},
    {"twice under another size", twice_under_another_size, double_free, SINCE_2_42},
    {"malloc of an unaligned one", malloc_unaligned, bad_pop, 0},
    {"calloc of an unaligned one", calloc_unaligned, bad_pop, SINCE_2_42},
    {"circle", circle, "free(): too many chunks detected in tcache", 0},
    {"walk to an unaligned one", walk_unaligned, "free(): unaligned chunk detected in tcache 2", 0},
    {"thread end with an unaligned one", thread_end_unaligned,
     "tcache_thread_shutdown(): unaligned tcache chunk detected", THREAD_ONLY},
};

int main(void) {
    return RUN_MISUSES(cases);
}
