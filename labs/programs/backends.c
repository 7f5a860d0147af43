/* One request below the mmap threshold, one above it, freed and asked for again.
 * After each step: the break, the mapped chunks and the arena as mallinfo2 counts them, and a mark for the tracer. */
#include "probe.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void report(const char *step) {
    struct mallinfo2 info = mallinfo2();
    say("%s.break=%ld", step, (long)(intptr_t)sbrk(0));
    say("%s.hblks=%zu", step, info.hblks);
    say("%s.hblkhd=%zu", step, info.hblkhd);
    say("%s.arena=%zu", step, info.arena);
    say("%s.ordblks=%zu", step, info.ordblks);
    say("%s.uordblks=%zu", step, info.uordblks);
    say("%s.fordblks=%zu", step, info.fordblks);
    say("%s.keepcost=%zu", step, info.keepcost);
}

static void *touched(size_t size) {
    void *mem = malloc(size);
    if (mem == NULL)
        fail("malloc returned NULL");
    return memset(mem, 1, size);
}

int main(int argc, char **argv) {
    /* mallopt can set the same options as the environment: backends PARAMETER VALUE. */
    if (argc == 3)
        say("mallopt=%d",
            mallopt((int)argument(argc, argv, 1, 0), (int)argument(argc, argv, 2, 0)));

    say("huge_pages=%ld", huge_pages_reserved());
    mark("first");
    void *first =
        touched(4096); /* the heap exists from here on, as after a program's first printf */
    mark("reported");
    report("first");

    mark("small");
    void *small = touched(120 * KIB);
    mark("reported");
    report("small");

    mark("large");
    void *large = touched(130 * KIB);
    mark("reported");
    report("large");

    mark("free_large");
    free(large);
    mark("reported");
    report("free_large");

    mark("large_again");
    large = touched(130 * KIB);
    mark("reported");
    report("large_again");

    mark("free_all");
    free(large);
    free(small);
    free(first);
    mark("trim");
    say("trim.result=%d", malloc_trim(0));
    mark("trim_again");
    say("trim_again.result=%d", malloc_trim(0));
    mark("reported");
    report("trim");
    return 0;
}
