// spurt lifo|fifo [SCALE]
//
// Stands for a function's temporaries: 25 to 6,400 blocks of one size, 16 to 256 bytes, are made and then all given
// up, the newest first (lifo) or the oldest first (fifo). The short spurts fit into any cache of freed blocks, the
// long ones into none that is bounded.
#include "work.h"

enum { LONGEST = 6400, BLOCKS_A_KIND = 25600, ROUNDS = 50 };

static struct block *live[LONGEST];

static uint64_t spurt(size_t count, size_t size, int lifo) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        live[i] = block_new(size, i);
    }
    for (size_t i = 0; i < count; i++) {
        sum = sum * 31 + block_free(live[lifo ? count - 1 - i : i]);
    }
    return sum;
}

int main(int argc, char **argv) {
    if (argc < 2 || (strcmp(argv[1], "lifo") != 0 && strcmp(argv[1], "fifo") != 0)) {
        fprintf(stderr, "usage: spurt lifo|fifo [SCALE]\n");
        return 2;
    }
    int lifo = argv[1][0] == 'l';
    size_t rounds = scaled(ROUNDS, argc, argv, 2);
    uint64_t sum = 0;
    for (size_t round = 0; round < rounds; round++) {
        for (size_t size = 16; size <= 256; size *= 2) {
            for (size_t count = 25; count <= LONGEST; count *= 4) {
                for (size_t done = 0; done < BLOCKS_A_KIND; done += count) {
                    sum = sum * 31 + spurt(count, size, lifo);
                }
            }
        }
    }
    return finish(sum);
}
