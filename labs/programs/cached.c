/* cached FIRST STEP CLASSES OBJECTS: allocate OBJECTS objects of each of CLASSES sizes (FIRST, FIRST + STEP, ...), free
 * them all, and print how many bytes count as in use although nothing is. */
#include "probe.h"

#include <malloc.h>
#include <stdlib.h>

#define OBJECT_LIMIT 65536

int main(int argc, char **argv) {
    static void *objects[OBJECT_LIMIT];
    size_t first = (size_t)argument(argc, argv, 1, 24), step = (size_t)argument(argc, argv, 2, 16);
    size_t classes = (size_t)argument(argc, argv, 3, 64),
           each = (size_t)argument(argc, argv, 4, 64);
    if (classes * each > OBJECT_LIMIT)
        fail("at most 65536 objects");
    free(malloc(1));        /* the cache itself exists, */
    void *kept = malloc(1); /* and is empty again */
    size_t before = mallinfo2().uordblks;
    for (size_t i = 0; i < classes * each; i++)
        objects[i] = malloc(first + i / each * step);
    say("live=%zu", mallinfo2().uordblks - before);
    for (size_t i = 0; i < classes * each; i++)
        free(objects[i]);
    say("held_back=%ld", (long)(mallinfo2().uordblks - before));
    free(kept);
    return 0;
}
