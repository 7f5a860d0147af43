/* wall [GAP_KIB]: put a mapping GAP_KIB above the break and allocate 40 blocks of 100,000 bytes, which do not fit
 * below it. What the main arena does when the break cannot move is in the trace and in mallinfo2. */
#include "probe.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCKS 40

int main(int argc, char **argv) {
    size_t gap = (size_t)argument(argc, argv, 1, 512) * KIB;
    void *blocks[BLOCKS];
    char *start = sbrk(0);
    free(malloc(16));
    uintptr_t break_page = ((uintptr_t)sbrk(0) + page_size() - 1) / page_size() * page_size();
    void *wall = mmap((void *)(break_page + gap), page_size(), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (wall == MAP_FAILED)
        skip("nothing could be mapped just above the break");

    mark("past_the_wall");
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(100000);
        if (blocks[i] == NULL)
            fail("malloc returned NULL");
        memset(blocks[i], 1, 100000);
    }
    mark("end");

    struct mallinfo2 info = mallinfo2();
    long above = 0, mapped = 0;
    for (int i = 0; i < BLOCKS; i++) {
        above += (uintptr_t)blocks[i] > (uintptr_t)wall;
        mapped += (header_of(blocks[i]) & FLAG_MAPPED) != 0;
    }
    say("break_moved=%ld", (long)((char *)sbrk(0) - start));
    say("blocks_elsewhere=%ld", above);
    say("blocks_flagged_mapped=%ld", mapped);
    say("hblks=%zu", info.hblks);
    say("hblkhd=%zu", info.hblkhd);
    say("arena=%zu", info.arena);
    return 0;
}
