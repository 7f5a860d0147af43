// replace THREADS [SCALE]
//
// Stands for a program in its steady state, an interpreter or a cache: many small objects live, one at random is
// given up and another of a random size takes its place. With several threads each has objects of its own.
#include "crew.h"

enum { SLOTS = 300000, STEPS = 9000000 };

static size_t threads;
static size_t steps;

static uint64_t body(size_t number) {
    uint64_t state = number + 1, sum = 0;
    size_t slots = SLOTS / threads;
    struct block **live = need(calloc(slots, sizeof *live));
    for (size_t step = 0; step < steps / threads; step++) {
        size_t slot = between(&state, 0, slots - 1);
        if (live[slot]) {
            sum += block_free(live[slot]);
        }
        // Three in four are under 128 bytes.
        size_t high = step % 4 ? 127 : 600;
        live[slot] = block_new(between(&state, 16, high), step);
    }
    for (size_t slot = 0; slot < slots; slot++) {
        if (live[slot]) {
            sum += block_free(live[slot]);
        }
    }
    free(live);
    return sum;
}

int main(int argc, char **argv) {
    threads = argc > 1 ? (size_t)atoi(argv[1]) : 1;
    steps = scaled(STEPS, argc, argv, 2);
    if (threads < 1) {
        fprintf(stderr, "usage: replace THREADS [SCALE]\n");
        return 2;
    }
    return finish(crew_run(threads, body));
}
