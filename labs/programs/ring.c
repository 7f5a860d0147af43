/* ring THREADS PAIRS: each thread frees and allocates 64 bytes PAIRS times, on a ring of eight pointers.
 * Prints the time from the moment all threads run, by the clock and by the processors, and how often an arena's lock was taken meanwhile. */
#include "crowd.h"
#include "probe.h"

#include <stdlib.h>

#define RING 8

static long pairs;

static void worker(size_t index) {
    void *ring[RING];
    (void)index;
    for (int i = 0; i < RING; i++)
        ring[i] = malloc(64);
    crowd_ready();
    crowd_meet();
    for (long i = 0; i < pairs; i++) {
        free(ring[i % RING]);
        ring[i % RING] = malloc(64);
    }
    crowd_meet();
    crowd_meet(); /* the counter is read before anything is given back */
    for (int i = 0; i < RING; i++)
        free(ring[i]);
}

int main(int argc, char **argv) {
    size_t threads = (size_t)argument(argc, argv, 1, 8);
    pairs = argument(argc, argv, 2, 2000000);
    crowd_start(threads, worker);
    long locks = allocator_counter("lock_acquisitions");
    uint64_t start = now_ns(), processor_start = processor_ns();
    crowd_meet();
    crowd_meet();
    uint64_t end = now_ns(), processor_end = processor_ns();
    long locks_after = allocator_counter("lock_acquisitions");
    crowd_meet();
    crowd_join();
    say("pairs=%ld", pairs * (long)threads);
    say("ns=%llu", (unsigned long long)(end - start));
    say("processor_ns=%llu", (unsigned long long)(processor_end - processor_start));
    if (locks >= 0)
        say("locks=%ld", locks_after - locks);
    return 0;
}
