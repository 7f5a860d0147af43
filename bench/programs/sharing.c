// sharing active|passive [SCALE]
//
// Stands for counters and small state of one thread that another thread's writes must not slow down. Each thread
// allocates 16 bytes, writes to them many times and frees them. If an allocator gives pieces of one cache line to
// two threads, they share it falsely: active, when fresh blocks are dealt out so; passive, when the blocks that
// the main thread made side by side are freed by the threads and then given to them again.
#include "crew.h"

enum { THREADS = 4, OBJECT = 16, BLOCKS = 600000, WRITES = 400 };

static size_t blocks;
static int passive;
static struct block *given[THREADS];

static uint64_t body(size_t number) {
    uint64_t sum = 0;
    if (passive) {
        sum += block_free(given[number]);
    }
    for (size_t i = 0; i < blocks / THREADS; i++) {
        struct block *own = block_new(OBJECT, i);
        volatile uint64_t *word = &own->tag;
        for (size_t n = 0; n < WRITES; n++) {
            *word += n;
        }
        sum += block_free(own);
    }
    return sum;
}

int main(int argc, char **argv) {
    passive = argc > 1 && strcmp(argv[1], "passive") == 0;
    if (!passive && (argc < 2 || strcmp(argv[1], "active") != 0)) {
        fprintf(stderr, "usage: sharing active|passive [SCALE]\n");
        return 2;
    }
    blocks = scaled((size_t)BLOCKS * THREADS, argc, argv, 2);
    for (size_t i = 0; passive && i < THREADS; i++) {
        given[i] = block_new(OBJECT, i);
    }
    return finish(crew_run(THREADS, body));
}
