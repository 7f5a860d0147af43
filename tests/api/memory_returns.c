// FIELD 2 to 5: memory that was freed comes back by itself, without a thread and without a call
// that asks for it. One case a process: what an earlier one taught the allocator would show.
#include "check.h"
#include "counters.h"
#include <malloc.h>
#include <time.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static uint64_t random_state;

static size_t between(size_t low, size_t high) {
    return low + next_random(&random_state) % (high - low + 1);
}

// The program's own tables are not malloc's memory.
static void *table(size_t bytes) {
    static char room[8 * 1000 * 1000];
    REQUIRE(bytes <= sizeof room, "the table is too small");
    memset(room, 1, bytes);
    return room;
}

static void *filled(size_t size) {
    void *mem = malloc(size);
    REQUIRE(mem, "no memory");
    return memset(mem, 0x5a, size);
}

static long lazily_freed_kib(void) {
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kib = -1;
    REQUIRE(f, "cannot open /proc/self/smaps_rollup: mount /proc");
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "LazyFree: %ld", &kib) == 1)
            break;
    fclose(f);
    return kib;
}

// FIELD 2: 300,000 blocks, all freed but the last, then silence.
static void burst(void) {
    enum { BLOCKS = 300000 };
    void **mem = table(BLOCKS * sizeof *mem);
    long before = status_kib("VmRSS");
    for (size_t i = 0; i < BLOCKS; i++)
        mem[i] = filled(between(100, 1999));
    long peak = status_kib("VmRSS") - before;
    for (size_t i = 0; i + 1 < BLOCKS; i++)
        free(mem[i]);
    usleep(500 * 1000);
    long left = status_kib("VmRSS") - before;
    say("burst: %ld MiB at the peak, %.1f %% left", peak >> 10, 100.0 * (double)left / (double)peak);
    CHECK(peak > 250 * 1024, "the burst took %ld KiB only", peak);
    CHECK(left < peak / 5, "%ld of %ld KiB are left", left, peak);
    CHECK(lazily_freed_kib() <= 0, "%ld KiB are only lazily freed", lazily_freed_kib());
    malloc_trim(0);
    left = status_kib("VmRSS") - before;
    CHECK(left < peak / 10, "%ld of %ld KiB are left after malloc_trim", left, peak);
    malloc_trim(0);
    CHECK(malloc_trim(0) == 0, "malloc_trim found something again and again");
}

// FIELD 3: a random 19 of 20 blocks freed.
static void holes(void) {
    enum { BLOCKS = 300000 };
    static const size_t sizes[] = {512, 1024, 2048};
    void **mem = table(BLOCKS * sizeof *mem);
    long before = status_kib("VmRSS");
    for (size_t i = 0; i < BLOCKS; i++)
        mem[i] = filled(sizes[between(0, 2)]);
    long peak = status_kib("VmRSS") - before;
    for (size_t i = BLOCKS - 1; i > 0; i--) { // in random order
        size_t k = between(0, i);
        void *swap = mem[i];
        mem[i] = mem[k];
        mem[k] = swap;
    }
    for (size_t i = 0; i < BLOCKS / 20 * 19; i++)
        free(mem[i]);
    long left = status_kib("VmRSS") - before;
    malloc_trim(0);
    long trimmed = status_kib("VmRSS") - before;
    say("holes: %.3f of the peak left, %.3f after malloc_trim", (double)left / (double)peak,
        (double)trimmed / (double)peak);
    CHECK(left < peak * 30 / 100, "%ld of %ld KiB are left", left, peak);
    CHECK(trimmed < peak * 25 / 100, "%ld of %ld KiB are left after malloc_trim", trimmed, peak);
}

// FIELD 4: rounds of large buffers, each with a small survivor beside it. What the program took again
// in each round it is believed to take again; when it has turned to something else, it does not. That is
// noticed by calls off the fast path only, as there is no thread to notice it.
static void survivors(void) {
    enum { ROUNDS = 100, BUFFERS = 6 };
    static char *survivor[ROUNDS][BUFFERS];
    long before = status_kib("VmRSS");
    for (size_t round = 0; round < ROUNDS; round++) {
        char *buffer[BUFFERS];
        for (size_t i = 0; i < BUFFERS; i++) {
            size_t size = between(1, 24) * MIB;
            buffer[i] = malloc(size);
            survivor[round][i] = filled(100);
            REQUIRE(buffer[i] && survivor[round][i], "no memory");
            for (size_t k = 0; k < size; k += 4 * KIB)
                buffer[i][k] = 1;
        }
        for (size_t i = 0; i < BUFFERS; i++)
            free(buffer[i]);
    }
    long at_once = status_kib("VmRSS") - before, left = at_once;
    // A little work off the fast path. What was learned halves every few seconds, so that it takes the longer the
    // more there was; a machine that is busy makes it slower, not different.
    int calls = 0;
    for (; calls < 600 && left >= 4 * 1024; calls++) {
        usleep(100 * 1000);
        free(filled(300 * KIB));
        left = status_kib("VmRSS") - before;
    }
    say("survivors: %ld KiB at once, %ld KiB after %d calls in as many tenths of a second", at_once, left, calls);
    CHECK(left < 4 * 1024, "%ld KiB are kept", left);
}

// FIELD 5: aligned buffers replaced again and again, with survivors between.
static void aligned(void) {
    enum { LIVE = 8, REPLACED = 3000 };
    static void *live[LIVE];
    static void *survivor[REPLACED];
    for (size_t i = 0; i < REPLACED; i++) {
        size_t k = between(0, LIVE - 1);
        free(live[k]);
        live[k] = memalign(64, between(MIB, 4 * MIB));
        REQUIRE(live[k], "no memory");
        *(char *)live[k] = 1;
        survivor[i] = filled(between(16, 200));
        REQUIRE(survivor[i], "no memory");
    }
    long size = status_kib("VmSize");
    say("aligned: VmSize %ld MiB", size >> 10);
    CHECK(size < 200 * 1024, "VmSize is %ld KiB", size);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"burst", burst}, {"holes", holes}, {"survivors", survivors}, {"aligned", aligned}};
    require_rung();
    random_state = seed_from_environment((uint64_t)time(NULL));
    REQUIRE(argc == 2, "usage: memory_returns CASE");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    check_heap("at the end");
    return check_result();
}
