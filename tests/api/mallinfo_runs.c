// Row E4 with runs: what mallinfo2 says of blocks that have no header agrees with a count kept
// beside the heap, after every one of thousands of calls. An object counts with its size class, a
// large block with its pages, and so both with their usable size.
// usage: mallinfo_runs exact|cached
//   exact    without caches and depot, so that a freed block leaves the bytes in use at once
//   cached   with them: what they hold is in use, and home after malloc_trim
#include "check.h"
#include <malloc.h>

enum { LIVE = 400, STEPS = 20000, BLOCK_MAX = 32 << 20 };

static struct {
    void *mem[LIVE];
    size_t bytes;        // of live blocks in windows
    size_t mapped_count; // of live blocks with a mapping of their own, and the bytes mapped for them
    size_t mapped_bytes;
} live;

static void count(void *mem, size_t sign) {
    size_t usable = malloc_usable_size(mem);
    if (without_header(usable)) {
        live.bytes += sign * usable;
    } else {
        live.mapped_count += sign;
        live.mapped_bytes += sign * (chunk_size(mem) + 16);
    }
}

static void drop(size_t i) {
    if (!live.mem[i])
        return;
    count(live.mem[i], (size_t)-1);
    free(live.mem[i]);
    live.mem[i] = NULL;
}

static size_t some_size(uint64_t *seed) {
    switch (next_random(seed) % 16) {
    case 0:
        return next_random(seed) % 100000;
    case 1:
        return 100000 + next_random(seed) % 3000000;
    case 2:
        return next_random(seed) % 64 == 0 ? BLOCK_MAX + next_random(seed) % 100000 : 40000;
    default:
        return next_random(seed) % 3000;
    }
}

static void step(uint64_t *seed) {
    size_t i = next_random(seed) % LIVE, size = some_size(seed);
    unsigned what = next_random(seed) % 4;
    void *mem = NULL;
    // A mapping stays one when it is made smaller, which its size then no longer tells.
    if (what == 0 && live.mem[i] && without_header(malloc_usable_size(live.mem[i]))) {
        count(live.mem[i], (size_t)-1);
        mem = realloc(live.mem[i], size + 1);
    } else {
        drop(i);
        mem = what == 1 && size < 100000 ? memalign((size_t)32 << next_random(seed) % 9, size)
              : what == 2                ? calloc(1, size)
                                         : malloc(size);
    }
    REQUIRE(mem, "no memory for %zu bytes", size);
    live.mem[i] = mem;
    count(mem, 1);
}

static void compare(const struct mallinfo2 *base, int n, bool exact) {
    struct mallinfo2 m = mallinfo2();
    size_t in_use = m.uordblks - base->uordblks;
    CHECK(exact ? in_use == live.bytes : in_use >= live.bytes, "step %d: %zu bytes in use, %zu counted",
          n, in_use, live.bytes);
    CHECK(m.hblks - base->hblks == live.mapped_count, "step %d: %zu mapped blocks, %zu counted", n,
          m.hblks - base->hblks, live.mapped_count);
    CHECK(m.hblkhd - base->hblkhd == live.mapped_bytes, "step %d: %zu mapped bytes, %zu counted", n,
          m.hblkhd - base->hblkhd, live.mapped_bytes);
    CHECK(m.arena == m.uordblks + m.fordblks, "step %d: arena %zu, in use %zu, free %zu", n, m.arena,
          m.uordblks, m.fordblks);
    CHECK(m.keepcost <= m.fordblks && m.ordblks >= 1,
          "step %d: keepcost %zu of %zu free in %zu blocks", n, m.keepcost, m.fordblks, m.ordblks);
    CHECK(m.usmblks == 0 && m.smblks == 0 && m.fsmblks == 0, "step %d: usmblks %zu, smblks %zu, fsmblks %zu",
          n, m.usmblks, m.smblks, m.fsmblks);
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2, "usage: %s exact|cached", argv[0]);
    bool exact = strcmp(argv[1], "exact") == 0;
    require_rung();
    REQUIRE(option_value("runs"), "there are no runs: RUNG_OPTIONS=profile=default puts them in");
    uint64_t seed = seed_from_environment(8642);
    free(malloc(1));
    malloc_trim(0);
    struct mallinfo2 base = mallinfo2();
    for (int n = 0; n < STEPS && !check_failures; n++) {
        step(&seed);
        compare(&base, n, exact);
    }
    malloc_trim(0);
    compare(&base, STEPS, true);
    for (size_t i = 0; i < LIVE; i++)
        drop(i);
    malloc_trim(0);
    compare(&base, STEPS + 1, true);
    check_heap("at the end");
    return check_result();
}
