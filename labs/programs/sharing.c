/* sharing [THREADS]: more threads than the arena limit, all alive. In which arena each one's first block lies, and
 * whether all its later blocks lie there too, while the others allocate. Prints the arena each thread was given, as a
 * small number (0: the main arena) in order of first use. */
#include "crowd.h"
#include "probe.h"

#include <stdlib.h>
#include <unistd.h>

#define THREAD_LIMIT 2048
#define BLOCKS 400
#define BLOCK_SIZE 3000 /* more than the cache takes: every request reaches the arena */

static uintptr_t arena_of_thread[THREAD_LIMIT];
static bool moved[THREAD_LIMIT];

static void worker(size_t index) {
    void *kept[BLOCKS];
    kept[0] = malloc(BLOCK_SIZE);
    arena_of_thread[index] = subheap_of(kept[0]);
    crowd_ready();
    crowd_meet();
    for (int i = 1; i < BLOCKS; i++) {
        kept[i] = malloc(BLOCK_SIZE);
        if (subheap_of(kept[i]) != arena_of_thread[index])
            moved[index] = true;
    }
    crowd_meet();
    for (int i = 0; i < BLOCKS; i++)
        free(kept[i]);
}

int main(int argc, char **argv) {
    static long number[THREAD_LIMIT];
    static uintptr_t seen[THREAD_LIMIT];
    static struct mapping found[THREAD_LIMIT];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    long limit = 8 * cpus;
    long threads = argument(argc, argv, 1, limit + 24);
    if (threads > THREAD_LIMIT)
        skip("this machine's CPUs allow more arenas than the lab can start threads");
    crowd_start((size_t)threads, worker);
    size_t subheap_count = subheaps(found, THREAD_LIMIT);
    crowd_meet();
    crowd_meet();
    crowd_join();

    size_t arenas = 0;
    long moves = 0;
    for (long i = 0; i < threads; i++) {
        size_t j = 0;
        while (j < arenas && seen[j] != arena_of_thread[i])
            j++;
        if (j == arenas && arena_of_thread[i] != 0)
            seen[arenas++] = arena_of_thread[i];
        number[i] = arena_of_thread[i] == 0 ? 0 : (long)j + 1;
        moves += moved[i];
    }
    say("cpus=%ld", cpus);
    say("limit=%ld", limit);
    say("threads=%ld", threads);
    say("subheaps=%zu", subheap_count);
    say("threads_that_moved=%ld", moves);
    say_list("arena_of_thread", number, (size_t)threads);
    return 0;
}
