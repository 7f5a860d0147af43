// burst lifo|fifo [SCALE]
//
// Stands for a request, a frame or a compiler's pass: hundreds of thousands of objects of one size are made and
// then all given up, the newest first (lifo, as scopes end) or the oldest first (fifo, as queues drain).
#include "work.h"

enum { OBJECTS = 250000, ROUNDS = 150 };

int main(int argc, char **argv) {
    if (argc < 2 || (strcmp(argv[1], "lifo") != 0 && strcmp(argv[1], "fifo") != 0)) {
        fprintf(stderr, "usage: burst lifo|fifo [SCALE]\n");
        return 2;
    }
    static const size_t sizes[] = {48, 100, 24, 200, 64};
    int lifo = argv[1][0] == 'l';
    size_t rounds = scaled(ROUNDS, argc, argv, 2);
    uint64_t sum = 0;
    struct block **live = need(malloc(OBJECTS * sizeof *live));
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < OBJECTS; i++) {
            live[i] = block_new(sizes[round % 5], i);
        }
        for (size_t i = 0; i < OBJECTS; i++) {
            sum = sum * 31 + block_free(live[lifo ? OBJECTS - 1 - i : i]);
        }
    }
    free(live);
    return finish(sum);
}
