// churn [SCALE]
//
// Stands for a service under steady load: two threads, each with 20,000 small blocks of 16 bytes to 32 KiB and 24 large
// ones of 64 KiB to 4 MiB, replaced at random, a large one for every 400 small. Nothing grows: every system call for
// memory after the first seconds, and every page fault, is one that giving back less would have saved.
#include <pthread.h>
#include "crew.h"
#include "moments.h"

enum { THREADS = 2, SMALL = 20000, LARGE = 24, STEPS = 4000000, FILL = 10, LARGE_EVERY = 400 };

static struct block *small[THREADS][SMALL], *large[THREADS][LARGE];
static size_t steps;
static pthread_barrier_t together;

static uint64_t replace(struct block **slot, size_t size, uint64_t tag) {
    uint64_t sum = *slot ? block_free(*slot) : 0;
    *slot = block_new(size, tag);
    return sum;
}

static uint64_t some(size_t number, uint64_t *state, size_t count) {
    uint64_t sum = 0;
    for (size_t step = 0; step < count; step++) {
        sum += replace(&small[number][between(state, 0, SMALL - 1)], log_between(state, 4, 15), step);
        if (step % LARGE_EVERY == 0) {
            sum += replace(&large[number][between(state, 0, LARGE - 1)], log_between(state, 16, 22), step);
        }
    }
    return sum;
}

// Only the first thread speaks, while the other waits.
static void all_now(size_t number, const char *what) {
    pthread_barrier_wait(&together);
    if (number == 0) {
        phase(what);
    }
    pthread_barrier_wait(&together);
}

static uint64_t body(size_t number) {
    uint64_t state = number + 1;
    size_t share = steps / THREADS;
    all_now(number, "fill");
    uint64_t sum = some(number, &state, share / FILL + 1);
    all_now(number, "steady");
    sum += some(number, &state, share - share / FILL);
    all_now(number, "free");
    for (size_t i = 0; i < SMALL; i++) {
        sum += small[number][i] ? block_free(small[number][i]) : 0;
    }
    for (size_t i = 0; i < LARGE; i++) {
        sum += large[number][i] ? block_free(large[number][i]) : 0;
    }
    return sum;
}

int main(int argc, char **argv) {
    pthread_barrier_init(&together, NULL, THREADS);
    start(argc, argv, 1);
    steps = scaled(STEPS, argc, argv, 1);
    uint64_t sum = crew_run(THREADS, body);
    phase("rest");
    still(2);
    moment("settled");
    figure("operations", (double)(steps - steps / FILL));
    return end(sum);
}
