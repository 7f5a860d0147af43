// aligned [SCALE]
//
// Stands for numerical code and codecs, whose buffers are aligned to cache lines: eight live ones of 1 to 4 MiB, one
// of which is replaced 3,000 times, with four small survivors after each. The sizes are whole MiB, so that a hole is a
// few bytes too small for the same size and its alignment. The address space the process takes must not grow with the
// number of replacements.
#include "moments.h"

enum { LIVE = 8, STEPS = 3000, ALIGNMENT = 64, SURVIVORS = 4, SMALLEST = 16, LARGEST = 128 };

static struct block *survivors[STEPS][SURVIVORS];

static struct block *aligned_new(size_t size, uint64_t tag) {
    void *mem;
    if (posix_memalign(&mem, ALIGNMENT, size) != 0) {
        mem = need(NULL);
    }
    for (size_t at = 0; at < size; at += 4096) {
        ((char *)mem)[at] = (char)tag;
    }
    struct block *block = mem;
    block->size = size;
    block->tag = tag;
    return block;
}

int main(int argc, char **argv) {
    struct block *buffers[LIVE] = {NULL};
    uint64_t state = 1, sum = 0;
    PRESENT(survivors);
    start(argc, argv, 1);
    size_t steps = scaled(STEPS, argc, argv, 1);
    steps = steps > STEPS ? STEPS : steps;
    phase("replace");
    for (size_t step = 0; step < steps; step++) {
        struct block **buffer = &buffers[between(&state, 0, LIVE - 1)];
        if (*buffer) {
            sum = sum * 31 + block_free(*buffer);
        }
        *buffer = aligned_new(between(&state, 1, 4) << 20, step);
        for (size_t i = 0; i < SURVIVORS; i++) {
            survivors[step][i] = block_new(between(&state, SMALLEST, LARGEST), step);
        }
    }
    moment("replaced");
    for (size_t i = 0; i < LIVE; i++) {
        if (buffers[i]) {
            sum = sum * 31 + block_free(buffers[i]);
        }
    }
    phase("rest");
    still(2);
    moment("settled");
    for (size_t step = 0; step < steps; step++) {
        for (size_t i = 0; i < SURVIVORS; i++) {
            sum = sum * 31 + block_free(survivors[step][i]);
        }
    }
    return end(sum);
}
