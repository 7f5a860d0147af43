/* One thread, one small block: the sub-heap it lies in, as the memory map shows it. */
#include "crowd.h"
#include "probe.h"

#include <stdlib.h>
#include <string.h>

static void *volatile block;

static void worker(size_t index) {
    (void)index;
    block = memset(malloc(64), 1, 64);
    crowd_ready();
    crowd_meet();
    crowd_meet();
}

int main(void) {
    static struct mapping all[1024];
    long before = memory_now().virtual_kib;
    crowd_start(1, worker);
    crowd_meet();
    uintptr_t start = subheap_of(block);
    size_t count = mappings(all, sizeof all / sizeof all[0]);
    say("secondary=%d", start != 0);
    for (size_t i = 0; i + 1 < count; i++) {
        if (all[i].start != start || start == 0)
            continue;
        say("prefix=%zu", (size_t)(all[i].end - all[i].start));
        say("prefix_permissions=%s", all[i].permissions);
        say("tail=%zu", (size_t)(all[i + 1].end - all[i + 1].start));
        say("tail_permissions=%s", all[i + 1].permissions);
        say("tail_follows=%d", all[i + 1].start == all[i].end);
        say("tail_ends_on_boundary=%d", all[i + 1].end % SUBHEAP_SIZE == 0);
    }
    say("virtual_grown_kib=%ld", memory_now().virtual_kib - before);
    say("resident_kib=%ld", memory_now().resident_kib);
    crowd_meet();
    crowd_join();
    return 0;
}
