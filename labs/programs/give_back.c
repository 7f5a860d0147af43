/* 20,000 blocks of 4096 bytes, written: freed all at once, then all but the topmost. What stays resident. */
#include "probe.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 20000

static void *blocks[BLOCKS];

static void fill(void) {
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(4096);
        if (blocks[i] == NULL)
            fail("malloc returned NULL");
        memset(blocks[i], 1, 4096);
    }
}

int main(void) {
    no_huge_pages();
    memset(blocks, 1,
           sizeof blocks); /* the table itself is resident before the first measurement */
    say_memory("start");
    fill();
    say_memory("filled");
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    say_memory("freed_all");
    say("trim_after_all=%d", malloc_trim(0));
    say_memory("trimmed_all");

    fill();
    say_memory("refilled");
    for (int i = 0; i < BLOCKS - 1; i++)
        free(blocks[i]);
    say_memory("freed_but_top");
    say("trim_with_top=%d", malloc_trim(0));
    say_memory("trimmed_but_top");
    free(blocks[BLOCKS - 1]);
    say("trim_last=%d", malloc_trim(0));
    say_memory("trimmed_last");
    return 0;
}
