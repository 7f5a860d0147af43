// Row E4: what mallopt returns, and that each parameter acts on this heap; M_MXFAST is accepted and
// does nothing.
#include "child.h"
#include <malloc.h>
#include <pthread.h>

static const struct {
    const char *name;
    int parameter;
    int values[6];
} parameters[] = {
    {"M_MXFAST", M_MXFAST, {0, 1, 64, 160, 1 << 30, -1}},
    {"M_TRIM_THRESHOLD", M_TRIM_THRESHOLD, {0, 4096, 1 << 20, 1 << 30, -1, 128 << 10}},
    {"M_TOP_PAD", M_TOP_PAD, {0, 1, 4096, 1 << 20, 64 << 20, 128 << 10}},
    {"M_MMAP_THRESHOLD", M_MMAP_THRESHOLD, {0, 1, 4096, 1 << 20, 32 << 20, 128 << 10}},
    {"M_MMAP_MAX", M_MMAP_MAX, {0, 1, 100, 1 << 30, 65536, 65536}},
    {"M_CHECK_ACTION", M_CHECK_ACTION, {0, 1, 2, 3, 5, 7}},
    {"M_PERTURB", M_PERTURB, {0, 1, 85, 255, 256, 0}},
    {"M_ARENA_TEST", M_ARENA_TEST, {1, 2, 8, 1000, 0, -1}},
    {"M_ARENA_MAX", M_ARENA_MAX, {1, 2, 8, 1000, 0, -1}},
    {"an old parameter", 2, {0, 1, 2, 3, 4, 5}},
    {"an unknown parameter", 12345, {0, 1, 2, 3, 4, 5}},
    {"a negative one", -12345, {0, 1, 2, 3, 4, 5}},
};

static void return_values(void *unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        for (int k = 0; k < 6; k++) {
            if (on_host_malloc() && parameters[i].parameter == M_MXFAST &&
                (unsigned)parameters[i].values[k] > 160)
                continue; // refused as long as there were fast bins
            int got = mallopt(parameters[i].parameter, parameters[i].values[k]);
            CHECK(got == 1, "mallopt(%s, %d) gave %d", parameters[i].name, parameters[i].values[k],
                  got);
        }
    void *mem = malloc(100000);
    CHECK(mem, "no memory after it all");
    free(mem);
}

enum { BLOCK = 60000, BLOCKS = 200 };

static void fill_and_empty(void) {
    static void *mem[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        mem[i] = malloc(BLOCK);
    for (int i = BLOCKS; i-- > 0;)
        free(mem[i]);
}

static void trim_threshold(void *unused) {
    (void)unused;
    fill_and_empty();
    CHECK(mallinfo2().arena < (1 << 20), "12 MB were freed, %zu bytes are still there",
          mallinfo2().arena);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    fill_and_empty();
    CHECK(mallinfo2().arena >= (size_t)BLOCK * BLOCKS, "trimmed to %zu below a threshold of 64 MiB",
          mallinfo2().arena);
}

static size_t largest_top(void) {
    size_t largest = 0;
    for (int i = 0; i < 60; i++) {
        REQUIRE(malloc(50000), "no memory");
        size_t top = mallinfo2().keepcost;
        largest = top > largest ? top : largest;
    }
    return largest;
}

static void top_pad(void *unused) {
    (void)unused;
    mallopt(M_TOP_PAD, 0);
    REQUIRE(malloc(100000), "no memory"); // what was left of an older pad is used up
    REQUIRE(malloc(100000), "no memory");
    CHECK(largest_top() <= 8192, "top_pad 0, yet top has %zu bytes", largest_top());
    mallopt(M_TOP_PAD, 1 << 20);
    size_t top = largest_top();
    CHECK(top >= (1 << 20) && top <= (1 << 20) + 8192, "top_pad 1 MiB, top has %zu bytes at most",
          top);
}

static int count_mapped(size_t size) {
    int mapped = 0;
    for (int i = 0; i < 50; i++) {
        void *mem = malloc(size);
        REQUIRE(mem, "no memory");
        mapped += is_mapped(mem);
    }
    return mapped;
}

static void mmap_threshold(void *unused) {
    (void)unused;
    CHECK(count_mapped(100000) == 0, "100000 bytes are mapped below the default threshold");
    mallopt(M_MMAP_THRESHOLD, 65536);
    CHECK(count_mapped(100000) >= 48, "100000 bytes are not mapped above a threshold of 65536");
    CHECK(count_mapped(60000) == 0, "60000 bytes are mapped below a threshold of 65536");
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    CHECK(count_mapped(500000) == 0, "500000 bytes are mapped below a threshold of 1 MiB");
}

static void mmap_max(void *unused) {
    (void)unused;
    CHECK(count_mapped(1000000) == 50, "1000000 bytes are not mapped");
    mallopt(M_MMAP_MAX, 60);
    CHECK(count_mapped(1000000) == 10,
          "50 of at most 60 mappings were there, 10 more were not what followed");
    mallopt(M_MMAP_MAX, 0);
    CHECK(count_mapped(1000000) == 0, "1000000 bytes are mapped with M_MMAP_MAX 0");
}

static void expect_filled(const unsigned char *mem, size_t from, size_t to, unsigned byte,
                          const char *what) {
    for (size_t i = from; i < to; i++)
        if (mem[i] != byte) {
            CHECK(false, "%s: byte %zu is %#x, not %#x", what, i, mem[i], byte);
            return;
        }
}

static void perturb(void *unused) {
    (void)unused;
    mallopt(M_PERTURB, 0x55);
    unsigned char *mem = malloc(5000), *behind = malloc(5000);
    expect_filled(mem, 0, 5000, 0x55 ^ 0xff, "malloc");
    memset(mem, 1, 5000);
    unsigned char *zero = calloc(1, 5000);
    expect_filled(zero, 0, 5000, 0, "calloc");
    free(mem);
    expect_filled(launder(mem), 32, 4900, 0x55, "after free"); // beyond the links of a free chunk
    unsigned char *mapped = malloc(500000);
    expect_filled(mapped, 0, 500000, 0x55 ^ 0xff, "malloc of a mapping");
    mallopt(M_PERTURB, 0);
    zero = calloc(1, 100000);
    expect_filled(zero, 0, 100000, 0, "calloc afterwards");
    free(behind);
}

static void *in_main_arena(void *yes) {
    void *mem = malloc(3000);
    *(bool *)yes = !(*size_field(mem) & NON_MAIN_ARENA);
    free(mem);
    return NULL;
}

static void arena_max(void *unused) {
    (void)unused;
    mallopt(M_ARENA_MAX, 1);
    for (int i = 0; i < 5; i++) {
        pthread_t t;
        bool in_main = false;
        REQUIRE(pthread_create(&t, NULL, in_main_arena, &in_main) == 0, "no thread");
        pthread_join(t, NULL);
        CHECK(in_main, "M_ARENA_MAX 1, yet a thread has an arena of its own");
    }
}

// Two small neighbours, freed past the cache, become one free block at once: with fast bins they
// stayed two.
static void mxfast(void *unused) {
    (void)unused;
    enum { SMALL = 40, FILL = 40 };
    if (on_host_malloc())
        return;
    mallopt(M_MXFAST, 160);
    void *fill[FILL], *mem[3];
    for (int attempt = 0;; attempt++) {
        for (int i = 0; i < 3; i++)
            mem[i] = malloc(SMALL);
        if ((char *)mem[1] == (char *)mem[0] + 48 && (char *)mem[2] == (char *)mem[1] + 48)
            break;
        REQUIRE(attempt < 1000, "never got neighbours");
    }
    for (int i = 0; i < FILL; i++)
        fill[i] = malloc(SMALL);
    REQUIRE(malloc(SMALL), "no memory");
    for (int i = 0; i < FILL; i++)
        free(fill[i]);
    size_t before = mallinfo2().ordblks;
    free(mem[0]);
    free(mem[1]);
    struct mallinfo2 m = mallinfo2();
    CHECK(m.ordblks == before + 1, "two freed neighbours make %zu free blocks", m.ordblks - before);
    CHECK(m.smblks == 0 && m.fsmblks == 0, "M_MXFAST filled fast bins: %zu blocks, %zu bytes",
          m.smblks, m.fsmblks);
}

// Those of arenas are not seen with runs, where these blocks lie elsewhere.
static const struct {
    const char *name;
    void (*run)(void *);
    bool of_arenas;
} effects[] = {
    {"return values", return_values, false},  {"M_PERTURB", perturb, false},
    {"M_TRIM_THRESHOLD", trim_threshold, true}, {"M_TOP_PAD", top_pad, true},
    {"M_MMAP_THRESHOLD", mmap_threshold, true}, {"M_MMAP_MAX", mmap_max, true},
    {"M_ARENA_MAX", arena_max, true},         {"M_MXFAST", mxfast, true},
};

static void run_effect(void *run) {
    effects[*(size_t *)run].run(NULL);
    check_heap("after mallopt");
    _exit(check_result());
}

int main(void) {
    require_rung();
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++) {
        struct outcome o;
        if (effects[i].of_arenas && option_value("runs"))
            continue;
        run_function(run_effect, &i, &o);
        CHECK(exited_with(&o, 0), "%s: %s\n%s", effects[i].name, ending(&o), o.err);
    }
    return check_result();
}
