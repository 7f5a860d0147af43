// large [SCALE]
//
// Stands for work on images and matrices: a dozen blocks of 1 to 25 MiB live, replaced at random and written to,
// with a small survivor beside each, which keeps what lies below it from being given back.
#include "work.h"

enum { SLOTS = 12, STEPS = 400, SURVIVORS = 64 };

int main(int argc, char **argv) {
    size_t steps = scaled(STEPS, argc, argv, 1);
    struct block *live[SLOTS] = {NULL}, *survivors[SURVIVORS] = {NULL};
    uint64_t state = 1, sum = 0;
    for (size_t step = 0; step < steps; step++) {
        struct block **slot = &live[between(&state, 0, SLOTS - 1)];
        struct block **survivor = &survivors[step % SURVIVORS];
        if (*slot) {
            sum += block_free(*slot);
        }
        if (*survivor) {
            sum += block_free(*survivor);
        }
        *slot = block_new(between(&state, (size_t)1 << 20, (size_t)25 << 20), step);
        *survivor = block_new(between(&state, 100, 2000), step);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        sum += live[i] ? block_free(live[i]) : 0;
    }
    for (size_t i = 0; i < SURVIVORS; i++) {
        sum += survivors[i] ? block_free(survivors[i]) : 0;
    }
    return finish(sum);
}
