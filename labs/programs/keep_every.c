/* keep_every K: 20,000 blocks of 4096 bytes, written, every K-th kept; one more live block lies on top. */
#include "probe.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 20000

static void *blocks[BLOCKS];

int main(int argc, char **argv) {
    int keep = (int)argument(argc, argv, 1, 64);
    no_huge_pages();
    memset(blocks, 1, sizeof blocks);
    say_memory("start");
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(4096);
        if (blocks[i] == NULL)
            fail("malloc returned NULL");
        memset(blocks[i], 1, 4096);
    }
    void *top = memset(malloc(4096), 1, 4096);
    say_memory("filled");
    long live = 1;
    for (int i = 0; i < BLOCKS; i++) {
        if (i % keep == 0)
            live++;
        else
            free(blocks[i]);
    }
    say("live_kib=%ld", live * 4);
    say_memory("freed");
    say("trim=%d", malloc_trim(0));
    say_memory("trimmed");
    free(top);
    return 0;
}
