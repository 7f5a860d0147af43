/* demand MIB: move the break up by that much, then write a byte to every page, in four parts. */
#include "probe.h"

#include <unistd.h>

static void report(int quarter, long first_faults) {
    struct memory memory = memory_now();
    say("q%d.faults=%ld", quarter, minor_faults() - first_faults);
    say("q%d.vsz=%ld", quarter, memory.virtual_kib);
    say("q%d.rss=%ld", quarter, memory.resident_kib);
}

int main(int argc, char **argv) {
    size_t size = (size_t)argument(argc, argv, 1, 1024) * MIB;
    no_huge_pages();
    say_memory("start");
    char *memory = sbrk((intptr_t)size);
    if (memory == (void *)-1)
        skip("the break cannot be moved that far");
    long first_faults = minor_faults();
    report(0, first_faults);
    size_t page = page_size();
    say("pages_a_quarter=%zu", size / 4 / page);
    for (int quarter = 0; quarter < 4; quarter++) {
        for (size_t offset = 0; offset < size / 4; offset += page)
            memory[(size_t)quarter * (size / 4) + offset] = 1;
        report(quarter + 1, first_faults);
    }
    return 0;
}
