/* malloc(16) a thousand times, between two marks; the first call alone, and the other 999. */
#include "probe.h"

#include <stdlib.h>

static void *kept[1000];

int main(void) {
    mark("first");
    kept[0] = malloc(16);
    mark("rest");
    for (int i = 1; i < 1000; i++)
        kept[i] = malloc(16);
    mark("end");
    say("span=%ld", (long)((char *)kept[999] - (char *)kept[0]));
    return 0;
}
