// holes [SCALE]
//
// Stands for a cache after most of it expired: 300,000 blocks of 512, 1024 and 2048 bytes, of which a random 19 of 20
// are freed. One page in five still holds a survivor and has to stay ("floor"); the others are whole pages of free
// memory amid the heap.
#include "trim.h"

enum { BLOCKS = 300000, OF = 20, SECONDS = 5 };

static struct block *blocks[BLOCKS];

static int by_address(const void *a, const void *b) {
    uintptr_t one = (uintptr_t)*(struct block *const *)a, other = (uintptr_t)*(struct block *const *)b;
    return one < other ? -1 : one > other;
}

// What the pages that hold some of the first `count` blocks come to. Sorting may allocate: only at the very end.
static double floor_kib(size_t count) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), next = 0;
    size_t pages = 0;
    qsort(blocks, count, sizeof *blocks, by_address);
    for (size_t i = 0; i < count; i++) {
        uintptr_t first = (uintptr_t)blocks[i] / page, last = ((uintptr_t)blocks[i] + blocks[i]->size - 1) / page;
        first = first > next ? first : next;
        if (last + 1 > first) {
            pages += last + 1 - first;
            next = last + 1;
        }
    }
    return (double)pages * (double)page / 1024;
}

int main(int argc, char **argv) {
    uint64_t state = 1, sum = 0;
    PRESENT(blocks);
    start(argc, argv, 1);
    size_t count = scaled(BLOCKS, argc, argv, 1), left = 0;
    count = count > BLOCKS ? BLOCKS : count;
    phase("fill");
    for (size_t i = 0; i < count; i++) {
        blocks[i] = block_new((size_t)512 << between(&state, 0, 2), i);
    }
    moment("full");
    phase("free");
    for (size_t i = 0; i < count; i++) {
        if (between(&state, 1, OF) < OF) {
            sum = sum * 31 + block_free(blocks[i]);
        } else {
            blocks[left++] = blocks[i];
        }
    }
    phase("rest");
    still(SECONDS);
    moment("settled");
    trim();
    for (size_t i = 0; i < left; i++) {
        sum = sum * 31 + blocks[i]->tag;
    }
    int status = end(sum);
    figure("floor", floor_kib(left));
    return status;
}
