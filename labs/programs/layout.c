/* One address of each region of the process. */
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int initialised = 1;
static int uninitialised;

int main(void) {
    int local = 0;
    void *block = malloc(16);
    int (*library)(const char *, ...) = printf;
    say("text=%#lx", (unsigned long)(uintptr_t)main);
    say("data=%#lx", (unsigned long)(uintptr_t)&initialised);
    say("bss=%#lx", (unsigned long)(uintptr_t)&uninitialised);
    say("malloc=%#lx", (unsigned long)(uintptr_t)block);
    say("break=%#lx", (unsigned long)(uintptr_t)sbrk(0));
    say("libc=%#lx", (unsigned long)(uintptr_t)library);
    say("stack=%#lx", (unsigned long)(uintptr_t)&local);
    say("ram=%lu", (unsigned long)sysconf(_SC_PHYS_PAGES) * page_size());
    static struct mapping all[512];
    size_t count = mappings(all, 512);
    for (size_t i = 0; i < count; i++)
        if (all[i].heap)
            say("malloc_in_heap_region=%d",
                (uintptr_t)block >= all[i].start && (uintptr_t)block < all[i].end);
    say_memory("all");
    return 0;
}
