/* arenas [THREADS]: each thread allocates and writes 64 blocks of 4096 bytes and keeps them while the main thread
 * counts the arenas twice: as sub-heaps in the memory map, and as malloc_info lists them. */
#include "crowd.h"
#include "probe.h"

#include <stdlib.h>
#include <string.h>

static void worker(size_t index) {
    void *kept[64];
    (void)index;
    kept[0] = malloc(4096); /* gives the thread its arena, while no other thread holds one's lock */
    crowd_ready();
    crowd_meet();
    for (int i = 1; i < 64; i++)
        kept[i] = malloc(4096);
    for (int i = 0; i < 64; i++)
        memset(kept[i], 1, 4096);
    crowd_meet();
    crowd_meet();
    for (int i = 0; i < 64; i++)
        free(kept[i]);
}

int main(int argc, char **argv) {
    static struct mapping found[1024];
    static long kib[1024];
    free(malloc(16)); /* the main thread's arena exists before any thread asks */
    crowd_start((size_t)argument(argc, argv, 1, 8), worker);
    crowd_meet(); /* every thread has its arena */
    crowd_meet(); /* every thread has its blocks */
    size_t count = subheaps(found, sizeof found / sizeof found[0]);
    for (size_t i = 0; i < count; i++)
        kib[i] = (long)((found[i].end - found[i].start) / KIB);
    say("subheaps=%zu", count);
    say_list("subheap_kib", kib, count);
    say_memory("all");
    say_malloc_info("info");
    crowd_meet();
    crowd_join();
    return 0;
}
