// silence [SCALE]
//
// Stands for a service between two bursts of work: 300,000 blocks of 100 to 1999 bytes, 307 MiB, all freed in order but
// the last one, which holds the end of the heap; then twelve seconds in which nothing calls malloc. At last
// malloc_trim.
#include "trim.h"

enum { BLOCKS = 300000, SMALLEST = 100, LARGEST = 1999, SECONDS = 12 };

static struct block *blocks[BLOCKS];

int main(int argc, char **argv) {
    uint64_t state = 1, sum = 0;
    PRESENT(blocks);
    start(argc, argv, 1);
    size_t count = scaled(BLOCKS, argc, argv, 1);
    count = count > BLOCKS ? BLOCKS : count;
    phase("fill");
    for (size_t i = 0; i < count; i++) {
        blocks[i] = block_new(between(&state, SMALLEST, LARGEST), i);
    }
    moment("full");
    phase("free");
    for (size_t i = 0; i + 1 < count; i++) {
        sum = sum * 31 + block_free(blocks[i]);
    }
    moment("freed");
    phase("rest");
    still(SECONDS);
    moment("silent");
    trim();
    return end(sum + blocks[count - 1]->tag);
}
