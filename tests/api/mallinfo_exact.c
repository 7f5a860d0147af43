// Row E4: mallinfo2 is exact: after every one of thousands of calls it agrees with a count kept
// beside the heap. The test runs twice: without caches (glibc.malloc.tcache_count=0), where a freed
// chunk leaves the bytes in use at once, and with them.
#include "check.h"
#include <malloc.h>
#include <pthread.h>

enum { LIVE = 400, STEPS = 20000 };

static struct {
    void *mem[LIVE];
    size_t heap_bytes;   // chunk sizes of live blocks that lie in an arena
    size_t mapped_count; // live blocks with a mapping of their own, and the bytes mapped for them
    size_t mapped_bytes;
} live;

static size_t mapping_size(void *mem) {
    // The mapping ends with a header's worth of bytes that no chunk uses; older releases counted
    // them to the chunk.
    return on_host_malloc() ? chunk_size(mem) : chunk_size(mem) + 16;
}

static void count(void *mem, size_t sign) {
    if (is_mapped(mem)) {
        live.mapped_count += sign;
        live.mapped_bytes += sign * mapping_size(mem);
    } else {
        live.heap_bytes += sign * chunk_size(mem);
    }
}

static void put(size_t i, void *mem) {
    REQUIRE(mem, "no memory");
    live.mem[i] = mem;
    count(mem, 1);
}

static void drop(size_t i) {
    if (!live.mem[i])
        return;
    count(live.mem[i], (size_t)-1);
    free(live.mem[i]);
    live.mem[i] = NULL;
}

static void step(uint64_t *seed) {
    size_t i = next_random(seed) % LIVE, size = next_random(seed) % 3000;
    switch (next_random(seed) % 12) {
    case 0:
        size = next_random(seed) % 100000;
        break;
    case 1:
        size = 300000 + next_random(seed) % 1000000;
        break;
    }
    unsigned what = next_random(seed) % 4;
    if (what == 0 && live.mem[i]) {
        count(live.mem[i], (size_t)-1);
        put(i, realloc(live.mem[i], size + 1));
        return;
    }
    drop(i);
    if (what == 1 && size < 100000)
        put(i, memalign((size_t)32 << next_random(seed) % 7, size));
    else if (what == 2)
        put(i, calloc(1, size));
    else if (what == 3)
        put(i, malloc(size));
}

static void compare(const struct mallinfo2 *base, int n, bool cached) {
    struct mallinfo2 m = mallinfo2();
    size_t in_use = m.uordblks - base->uordblks;
    // What the caches hold counts as in use.
    CHECK(cached ? in_use >= live.heap_bytes : in_use == live.heap_bytes,
          "step %d: %zu bytes in use, %zu counted", n, in_use, live.heap_bytes);
    CHECK(m.hblks - base->hblks == live.mapped_count, "step %d: %zu mapped blocks, %zu counted", n,
          m.hblks - base->hblks, live.mapped_count);
    CHECK(m.hblkhd - base->hblkhd == live.mapped_bytes, "step %d: %zu mapped bytes, %zu counted", n,
          m.hblkhd - base->hblkhd, live.mapped_bytes);
    CHECK(m.arena == m.uordblks + m.fordblks, "step %d: arena %zu, in use %zu, free %zu", n,
          m.arena, m.uordblks, m.fordblks);
    CHECK(m.keepcost <= m.fordblks && m.ordblks >= 1,
          "step %d: keepcost %zu of %zu free in %zu blocks", n, m.keepcost, m.fordblks, m.ordblks);
    CHECK(m.usmblks == 0, "step %d: usmblks %zu", n, m.usmblks);
    if (!on_host_malloc())
        CHECK(m.smblks == 0 && m.fsmblks == 0, "step %d: smblks %zu, fsmblks %zu", n, m.smblks,
              m.fsmblks);
}

static void test_series(uint64_t seed, bool cached) {
    struct mallinfo2 base = mallinfo2();
    for (int n = 0; n < STEPS && !check_failures; n++) {
        step(&seed);
        compare(&base, n, cached);
    }
    for (size_t i = 0; i < LIVE; i++)
        drop(i);
    compare(&base, STEPS, cached);
}

static size_t *words_at(void *p) {
    return launder(p);
}

// Holes between live blocks: each is one free block more, of exactly its chunk's size.
static void test_holes(void) {
    enum { HOLES = 50 };
    void *mem[2 * HOLES];
    for (int attempt = 0;;
         attempt++) { // what came from older holes does not lie in a row and is kept
        bool in_a_row = true;
        for (int i = 0; i < 2 * HOLES; i++) {
            mem[i] = malloc(2000);
            in_a_row = in_a_row && (i == 0 || (char *)mem[i] == (char *)mem[i - 1] + 2016);
        }
        if (in_a_row)
            break;
        REQUIRE(attempt < 100, "never got blocks in a row");
    }
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < HOLES; i++) {
        free(mem[2 * i]);
        struct mallinfo2 m = mallinfo2();
        CHECK(m.ordblks - before.ordblks == (size_t)i + 1, "%d holes, %zu free blocks more", i + 1,
              m.ordblks - before.ordblks);
        CHECK(m.fordblks - before.fordblks == 2016 * ((size_t)i + 1),
              "%d holes, %zu free bytes more", i + 1, m.fordblks - before.fordblks);
    }
    for (int i = 0; i < HOLES; i++)
        free(mem[2 * i + 1]);
    // keepcost is top, the chunk that ends where the break is.
    size_t top = mallinfo2().keepcost;
    size_t header = words_at((char *)sbrk(0) - top)[1];
    CHECK(header == (top | PREV_INUSE), "keepcost %zu, the header of top says %#zx", top, header);
}

// A size that is cached up to the cache's depth and not further.
static void test_cache_counts_as_used(void) {
    enum { BLOCKS = 40 };
    void *mem[BLOCKS];
    size_t depth = on_host_malloc() ? 7 : 16;
    for (int i = 0; i < BLOCKS; i++)
        mem[i] = malloc(968); // no other part of this program frees a chunk of 976 bytes
    size_t before = mallinfo2().uordblks;
    for (size_t i = 0; i < BLOCKS; i++) {
        free(mem[i]);
        size_t gone = before - mallinfo2().uordblks, want = i < depth ? 0 : (i + 1 - depth) * 976;
        CHECK(gone == want, "%zu freed: %zu bytes left the bytes in use, not %zu", i + 1, gone,
              want);
    }
}

static void test_old_interface(void) {
    struct mallinfo2 m = mallinfo2();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    struct mallinfo o = mallinfo();
#pragma GCC diagnostic pop
    CHECK(o.arena == (int)m.arena && o.ordblks == (int)m.ordblks && o.hblks == (int)m.hblks &&
              o.hblkhd == (int)m.hblkhd && o.uordblks == (int)m.uordblks &&
              o.fordblks == (int)m.fordblks && o.keepcost == (int)m.keepcost && o.usmblks == 0,
          "mallinfo and mallinfo2 disagree: arena %d and %zu, in use %d and %zu", o.arena, m.arena,
          o.uordblks, m.uordblks);
}

static pthread_barrier_t stage;

static void *allocate_in_thread(void *total) {
    static void *mem[100];
    free(malloc(2000));
    pthread_barrier_wait(&stage);
    pthread_barrier_wait(&stage);
    for (size_t i = 0; i < 100; i++) {
        mem[i] = malloc(1500 + i * 16);
        *(size_t *)total += chunk_size(mem[i]);
    }
    pthread_barrier_wait(&stage);
    pthread_barrier_wait(&stage);
    for (size_t i = 0; i < 100; i++)
        free(mem[i]);
    pthread_barrier_wait(&stage);
    pthread_barrier_wait(&stage);
    return NULL;
}

// The arenas of all threads are in the sum.
static void test_threads(void) {
    pthread_t t;
    size_t total = 0;
    pthread_barrier_init(&stage, NULL, 2);
    REQUIRE(pthread_create(&t, NULL, allocate_in_thread, &total) == 0, "no thread");
    pthread_barrier_wait(&stage);
    size_t before = mallinfo2().uordblks;
    pthread_barrier_wait(&stage);
    pthread_barrier_wait(&stage);
    CHECK(mallinfo2().uordblks - before == total, "a thread allocated %zu bytes, %zu were counted",
          total, mallinfo2().uordblks - before);
    pthread_barrier_wait(&stage);
    pthread_barrier_wait(&stage);
    CHECK(mallinfo2().uordblks == before, "a thread freed all, %zu bytes are left",
          mallinfo2().uordblks - before);
    pthread_barrier_wait(&stage);
    pthread_join(t, NULL);
}

int main(int argc, char **argv) {
    require_rung();
    bool cached = argc > 1 && strcmp(argv[1], "cached") == 0;
    uint64_t seed = seed_from_environment(4321);
    free(malloc(1));
    if (cached)
        test_cache_counts_as_used();
    test_series(seed, cached);
    test_holes();
    test_threads();
    test_old_interface();
    check_heap("at the end");
    return check_result();
}
