// crowd THREADS [SCALE]
//
// Stands for a busy service on more threads than processors: each replaces blocks of its own at random, and every
// eighth block is left in a place where any thread may take it up. The work is the same for any number of threads,
// so that what it costs more with many of them is theirs.
#include <stdatomic.h>
#include "crew.h"

enum { BLOCKS = 40000, PLACES = 1024, STEPS = 12000000 };

static _Atomic(struct block *) places[PLACES];
static size_t threads, steps;
static pthread_barrier_t together;

static uint64_t give_up(struct block *block, uint64_t *state, size_t step) {
    if (step % 8 == 0) {
        block = atomic_exchange(&places[between(state, 0, PLACES - 1)], block);
    }
    return block ? block_free(block) : 0;
}

static uint64_t body(size_t number) {
    uint64_t state = number + 1, sum = 0;
    size_t slots = BLOCKS / threads;
    struct block **live = need(calloc(slots, sizeof *live));
    pthread_barrier_wait(&together);
    for (size_t step = 0; step < steps / threads; step++) {
        struct block **slot = &live[between(&state, 0, slots - 1)];
        sum += give_up(*slot, &state, step);
        *slot = block_new(log_between(&state, 4, 11), step);
    }
    for (size_t i = 0; i < slots; i++) {
        sum += live[i] ? block_free(live[i]) : 0;
    }
    free(live);
    return sum;
}

int main(int argc, char **argv) {
    threads = argc > 1 ? (size_t)atoi(argv[1]) : 0;
    steps = scaled(STEPS, argc, argv, 2);
    if (threads < 1 || threads > CREW_MAX) {
        fprintf(stderr, "usage: crowd THREADS [SCALE]\n");
        return 2;
    }
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    uint64_t sum = crew_run(threads, body);
    for (size_t i = 0; i < PLACES; i++) {
        struct block *left = atomic_load(&places[i]);
        sum += left ? block_free(left) : 0;
    }
    // A malloc and a free a step.
    figure("operations", 2.0 * (double)(steps / threads * threads));
    return finish(sum);
}
