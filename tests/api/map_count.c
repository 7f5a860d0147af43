// FIELD 15: whatever a program does, the process has less than a tenth of the mappings that the kernel allows.
// One case a process.
#include "check.h"
#include <malloc.h>
#include <pthread.h>
#include <time.h>

#define MIB ((size_t)1 << 20)

static uint64_t random_state;
static long allowed, most;

static long number_in(const char *path) {
    char text[32] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && read(fd, text, sizeof text - 1) > 0, "cannot read %s: mount /proc", path);
    close(fd);
    return strtol(text, NULL, 10);
}

// Without the heap.
static long mappings(void) {
    static char text[1 << 16];
    long lines = 0;
    ssize_t n;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0, "cannot open /proc/self/maps: mount /proc");
    while ((n = read(fd, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < n; i++)
            lines += text[i] == '\n';
    close(fd);
    return lines;
}

static void look(void) {
    long now = mappings();
    most = now > most ? now : most;
}

// The first byte and one of each page: which pages are resident is what may split a mapping.
static char *touched(size_t size) {
    char *mem = malloc(size);
    REQUIRE(mem, "no memory");
    for (size_t at = 0; at < size; at += 4096)
        mem[at] = 1;
    return mem;
}

enum { BLOCKS = 100000 };
static char *blocks[BLOCKS];

// All small, a random 19 of 20 freed, and the holes given back.
static void holes(void) {
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = touched((size_t)512 << next_random(&random_state) % 3);
    look();
    for (int i = 0; i < BLOCKS; i++)
        if (next_random(&random_state) % 20 != 0) {
            free(blocks[i]);
            blocks[i] = NULL;
        }
    look();
    malloc_trim(0);
    look();
}

// Blocks of several pages, every second one freed: no hole meets another.
static void comb(void) {
    enum { TEETH = 12000 };
    for (int i = 0; i < TEETH; i++)
        blocks[i] = touched(40000);
    look();
    for (int i = 0; i < TEETH; i += 2)
        free(blocks[i]);
    look();
    malloc_trim(0);
    look();
    for (int i = 0; i < TEETH; i += 2)
        blocks[i] = touched(next_random(&random_state) % 40000 + 1);
    look();
}

// Sizes from 16 bytes to 16 MiB, as many small ones as large ones, replaced at random.
static void all_sizes(void) {
    enum { SLOTS = 200 };
    for (int i = 0; i < 40000; i++) {
        size_t k = next_random(&random_state) % SLOTS;
        size_t size = (size_t)16 << next_random(&random_state) % 20;
        free(blocks[k]);
        blocks[k] = malloc(size + next_random(&random_state) % size);
        REQUIRE(blocks[k], "no memory");
        blocks[k][0] = 1;
        if (i % 1000 == 0)
            look();
    }
}

// Thousands of large blocks, none of them touched but at its beginning.
static void large(void) {
    enum { LARGE = 3000 };
    for (int i = 0; i < LARGE; i++) {
        blocks[i] = malloc((1 + next_random(&random_state) % 3) * MIB);
        REQUIRE(blocks[i], "no memory");
        blocks[i][0] = 1;
    }
    look();
    for (int i = 0; i < LARGE; i += 2)
        free(blocks[i]);
    look();
    malloc_trim(0);
    look();
}

static pthread_barrier_t all_there, all_seen;

static void *crowd_thread(void *number) {
    uint64_t random = (uintptr_t)number;
    char *mem[200] = {NULL};
    for (int i = 0; i < 3000; i++) {
        size_t k = next_random(&random) % 200;
        free(mem[k]);
        mem[k] = touched(1 + next_random(&random) % 60000);
    }
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_seen);
    for (int k = 0; k < 200; k++)
        free(mem[k]);
    return NULL;
}

// Threads: their stacks count too, two mappings each.
static void crowd(void) {
    enum { THREADS = 32 };
    pthread_t t[THREADS];
    pthread_barrier_init(&all_there, NULL, THREADS + 1);
    pthread_barrier_init(&all_seen, NULL, THREADS + 1);
    for (size_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&t[i], NULL, crowd_thread, (void *)(i + 1)) == 0, "no thread");
    pthread_barrier_wait(&all_there);
    look();
    pthread_barrier_wait(&all_seen);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    look();
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"holes", holes}, {"comb", comb}, {"all_sizes", all_sizes}, {"large", large}, {"crowd", crowd}};
    bool found = false;
    require_rung();
    random_state = seed_from_environment((uint64_t)time(NULL));
    allowed = number_in("/proc/sys/vm/max_map_count") / 10;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) {
            found = true;
            cases[i].run();
        }
    REQUIRE(found, "usage: map_count holes|comb|all_sizes|large|crowd");
    say("%s: at most %ld mappings, %ld are a tenth of the limit", argv[1], most, allowed);
    CHECK(most < allowed, "%ld mappings, where %ld are allowed", most, allowed);
    check_heap("at the end");
    return check_result();
}
