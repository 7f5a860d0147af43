/* subheap [cached]: one thread fills two sub-heaps with 40,000 blocks of 2,000 bytes and frees them, the last one
 * first. With `cached`, an object of 1,000 bytes allocated after them is freed first, into the thread's cache: a
 * cached chunk counts as in use, and this one lies at the top. */
#include "crowd.h"
#include "probe.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS 40000
#define BLOCK_SIZE 2000

static char *blocks[BLOCKS];
static bool with_cached_chunk;

/* An object above the last block. The first ones asked for may fill what was left at the end of the first sub-heap;
 * they are returned as well, all to the caller's cache. */
#define ABOVE_LIMIT 8
static void *above[ABOVE_LIMIT];

static size_t allocate_above(void) {
    uintptr_t last_block = (uintptr_t)blocks[BLOCKS - 1];
    for (size_t i = 0; i < ABOVE_LIMIT; i++) {
        above[i] = malloc(1000);
        if (subheap_of(above[i]) == subheap_of(blocks[BLOCKS - 1]) &&
            (uintptr_t)above[i] > last_block)
            return i + 1;
    }
    fail("no small object lies above the last block");
}

static void worker(size_t index) {
    (void)index;
    free(malloc(BLOCK_SIZE)); /* the arena exists */
    crowd_ready();
    crowd_meet();
    mark("grow");
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK_SIZE);
        if (blocks[i] == NULL)
            fail("malloc returned NULL");
        memset(blocks[i], 1, BLOCK_SIZE);
    }
    size_t small = with_cached_chunk ? allocate_above() : 0;
    mark("grown");
    crowd_meet();
    crowd_meet();
    mark("shrink");
    while (small > 0)
        free(above[--small]);
    for (int i = BLOCKS - 1; i >= 0; i--)
        free(blocks[i]);
    mark("shrunk");
    crowd_meet();
    crowd_meet();
    mark("exit");
}

int main(int argc, char **argv) {
    no_huge_pages();
    with_cached_chunk = argc > 1 && strcmp(argv[1], "cached") == 0;
    crowd_start(1, worker);
    memset(blocks, 0, sizeof blocks);
    say_memory("start");
    crowd_meet();
    crowd_meet();
    say("first_subheap=%#lx", (unsigned long)subheap_of(blocks[0]));
    say("last_subheap=%#lx", (unsigned long)subheap_of(blocks[BLOCKS - 1]));
    say_memory("grown");
    crowd_meet();
    crowd_meet();
    say_memory("shrunk");
    crowd_meet();
    crowd_join();
    mark("gone");
    say_memory("gone");
    return 0;
}
