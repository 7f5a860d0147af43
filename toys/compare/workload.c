/* The comparison's load. It calls malloc and free and nothing else of an allocator, so LD_PRELOAD
 * decides what is measured. A fixed number of blocks is live; a step frees one of them, picked at
 * random, allocates another of random size in its place, and writes to each of the new one's
 * pages. Sizes and picks depend on the seed alone: every allocator gets exactly the same calls.
 * The results go to stdout as one JSON object. */
#define _GNU_SOURCE
#include "../measure.h"

#include <inttypes.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_BLOCKS 100000
#define LARGE ((size_t)128 * 1024)

/* One request in LARGE_ONE_IN is large: 128 to 256 KiB, evenly. The others are small: first a
 * power of two from 16 to 4096, each as likely as the next, then evenly from there up to its
 * double. */
#define LARGE_ONE_IN 75
#define SMALL_LEAST_LOG 4
#define SMALL_LOGS 9

struct block {
    char *mem;
    size_t size;
};

static struct block blocks[MAX_BLOCKS];
static uint64_t random_state;
static uint64_t requested_bytes, requests, large_requests;

/* xorshift64*; the multiplication is only in the output, so the state must not be 0. */
static uint64_t random_below(uint64_t bound) {
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (random_state * UINT64_C(0x2545F4914F6CDD1D) >> 32) * bound >> 32;
}

static size_t random_size(void) {
    if (random_below(LARGE_ONE_IN) == 0)
        return LARGE + random_below(LARGE);
    size_t least = (size_t)1 << (SMALL_LEAST_LOG + random_below(SMALL_LOGS));
    return least + random_below(least);
}

static void fill(struct block *block) {
    block->size = random_size();
    block->mem = malloc(block->size);
    if (block->mem == NULL) {
        fprintf(stderr,
                "workload: malloc(%zu) failed; close what uses the memory or lower --steps\n",
                block->size);
        exit(2);
    }
    for (size_t i = 0; i < block->size; i += 4096)
        block->mem[i] = 1;
    block->mem[block->size - 1] = 1;
    requested_bytes += block->size;
    requests++;
    large_requests += block->size >= LARGE;
}

/* CPU time: the load never waits, so on a quiet machine it is the time by the clock, and on a busy
 * one it leaves out what other programs took. The work of an allocator's own threads counts. */
static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static long page_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static uint64_t number(const char *option, const char *text, uint64_t least, uint64_t most) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || value < least || value > most) {
        fprintf(stderr, "workload: %s takes a number from %" PRIu64 " to %" PRIu64 ", not \"%s\"\n",
                option, least, most, text);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv) {
    uint64_t count = 2700, steps = 372000, seed = 1;
    measure_begin();
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--blocks") == 0) {
            count = number(argv[i], value, 0, MAX_BLOCKS);
        } else if (strcmp(argv[i], "--steps") == 0) {
            steps = number(argv[i], value, 0, UINT32_MAX);
        } else if (strcmp(argv[i], "--seed") == 0) {
            seed = number(argv[i], value, 1, UINT32_MAX);
        } else {
            fprintf(stderr, "usage: workload [--blocks N] [--steps N] [--seed N]\n");
            return 2;
        }
    }
    random_state = seed * UINT64_C(0x9E3779B97F4A7C15);
    if (count == 0)
        steps = 0; /* nothing to replace: what a process costs that allocates nothing */

    for (uint64_t i = 0; i < count;
         i++) /* so that the table's own pages count as there from the start */
        blocks[i].mem = NULL;
    long start_kib = anonymous_rss_kib();

    for (uint64_t i = 0; i < count; i++)
        fill(&blocks[i]);
    long faults = page_faults();
    uint64_t begin = now_ns();
    for (uint64_t i = 0; i < steps; i++) {
        struct block *block = &blocks[random_below(count)];
        free(block->mem);
        fill(block);
    }
    uint64_t elapsed = now_ns() - begin;
    faults = page_faults() - faults;

    uint64_t live_bytes = 0;
    for (uint64_t i = 0; i < count; i++)
        live_bytes += blocks[i].size;
    long live_kib = anonymous_rss_kib();
    /* The large ones last: glibc before 2.43 leaves freed chunks of up to 128 bytes unmerged
     * (fastbins) until a large one is freed, so that with a small one last it would be chance how
     * much of the heap it keeps. */
    for (uint64_t i = 0; i < count; i++)
        if (blocks[i].size < LARGE)
            free(blocks[i].mem);
    for (uint64_t i = 0; i < count; i++)
        if (blocks[i].size >= LARGE)
            free(blocks[i].mem);
    long kept_kib = anonymous_rss_kib();

    printf("{\"blocks\": %" PRIu64 ", \"steps\": %" PRIu64 ", \"seed\": %" PRIu64
           ", \"requests\": %" PRIu64 ", \"large_requests\": %" PRIu64
           ", \"requested_bytes\": %" PRIu64 ", \"live_bytes\": %" PRIu64
           ", \"ns_per_step\": %.1f, \"faults_in_steps\": %ld"
           ", \"rss_start_kib\": %ld, \"rss_live_kib\": %ld, \"rss_kept_kib\": %ld}\n",
           count, steps, seed, requests, large_requests, requested_bytes, live_bytes,
           steps == 0 ? 0.0 : (double)elapsed / (double)steps, faults, start_kib, live_kib,
           kept_kib);
    return 0;
}
