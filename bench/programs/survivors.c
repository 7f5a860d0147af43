// survivors [SCALE]
//
// Stands for work on large buffers that leaves something small behind, as decoders of images and network stacks do:
// 400 rounds of six buffers of 1 to 24 MiB, each with a small survivor allocated right after it. The buffers are
// freed at the end of each round, the survivors stay and must not hold the buffers' memory.
#include "moments.h"

enum { ROUNDS = 400, BUFFERS = 6, SMALLEST = 64, LARGEST = 255 };

static struct block *survivors[ROUNDS * BUFFERS];

int main(int argc, char **argv) {
    uint64_t state = 1, sum = 0;
    size_t bytes = 0;
    PRESENT(survivors);
    start(argc, argv, 1);
    size_t rounds = scaled(ROUNDS, argc, argv, 1);
    rounds = rounds > ROUNDS ? ROUNDS : rounds;
    phase("rounds");
    for (size_t round = 0; round < rounds; round++) {
        struct block *buffers[BUFFERS];
        for (size_t i = 0; i < BUFFERS; i++) {
            struct block **survivor = &survivors[round * BUFFERS + i];
            buffers[i] = block_new(between(&state, (size_t)1 << 20, (size_t)24 << 20), i);
            *survivor = block_new(between(&state, SMALLEST, LARGEST), i);
            bytes += (*survivor)->size;
        }
        for (size_t i = 0; i < BUFFERS; i++) {
            sum = sum * 31 + block_free(buffers[i]);
        }
    }
    phase("rest");
    still(2);
    moment("settled");
    live(bytes);
    for (size_t i = 0; i < rounds * BUFFERS; i++) {
        sum = sum * 31 + block_free(survivors[i]);
    }
    return end(sum);
}
