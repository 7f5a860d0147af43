/* How far the first malloc in a process moves the break. */
#include "probe.h"

#include <stdlib.h>
#include <unistd.h>

static void *volatile sink;

int main(void) {
    char *before = sbrk(0);
    sink = malloc(16);
    char *after = sbrk(0);
    say("moved=%ld", (long)(after - before));
    return 0;
}
