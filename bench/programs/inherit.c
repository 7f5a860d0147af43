// inherit [SCALE]
//
// Stands for a server that hands a session from one worker to the next: a thread replaces blocks at random in the
// array it was given, ends, and the next thread goes on with what it left. All that a thread finds was allocated
// by another one, which is no more.
#include "crew.h"

enum { LINEAGES = 4, SLOTS = 3000, GENERATIONS = 120, STEPS = 25000 };

static struct block *sessions[LINEAGES][SLOTS];
static size_t generation;

static uint64_t body(size_t number) {
    struct block **live = sessions[(number + generation) % LINEAGES];
    uint64_t state = generation * LINEAGES + number + 1, sum = 0;
    for (size_t step = 0; step < STEPS; step++) {
        struct block **slot = &live[between(&state, 0, SLOTS - 1)];
        if (*slot) {
            sum += block_free(*slot);
        }
        *slot = block_new(between(&state, 16, 500), step);
    }
    return sum;
}

int main(int argc, char **argv) {
    size_t generations = scaled(GENERATIONS, argc, argv, 1);
    uint64_t sum = 0;
    for (generation = 0; generation < generations; generation++) {
        sum += crew_run(LINEAGES, body);
    }
    for (size_t lineage = 0; lineage < LINEAGES; lineage++) {
        for (size_t slot = 0; slot < SLOTS; slot++) {
            if (sessions[lineage][slot]) {
                sum += block_free(sessions[lineage][slot]);
            }
        }
    }
    return finish(sum);
}
