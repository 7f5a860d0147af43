/* churn THREADS AT_A_TIME: short-lived threads in waves. All of a wave are alive together: each waits for the others
 * with a block in its hand. Prints the sub-heaps after the first wave, in the middle and at the end. */
#include "probe.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define WAVE_LIMIT 64

static pthread_barrier_t wave;

static void *worker(void *unused) {
    (void)unused;
    void *block = memset(malloc(2000), 1, 2000);
    pthread_barrier_wait(&wave);
    free(block);
    return NULL;
}

static size_t subheap_count(void) {
    static struct mapping found[1024];
    return subheaps(found, sizeof found / sizeof found[0]);
}

static void run_wave(size_t size) {
    pthread_t threads[WAVE_LIMIT];
    for (size_t i = 0; i < size; i++)
        if (pthread_create(&threads[i], NULL, worker, NULL) != 0)
            skip("this machine does not allow that many threads");
    for (size_t i = 0; i < size; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
    long threads = argument(argc, argv, 1, 10000), at_a_time = argument(argc, argv, 2, 4);
    if (at_a_time < 1 || at_a_time > WAVE_LIMIT)
        fail("1 to 64 threads at a time");
    pthread_barrier_init(&wave, NULL, (unsigned)at_a_time);
    long done = 0, waves = threads / at_a_time;
    for (long i = 0; i < waves; i++, done += at_a_time) {
        run_wave((size_t)at_a_time);
        if (i == 0) {
            say("subheaps_after_first_wave=%zu", subheap_count());
            say_memory("first_wave");
        } else if (i == waves / 2) {
            say("subheaps_halfway=%zu", subheap_count());
        }
    }
    say("threads=%ld", done);
    say("subheaps_at_end=%zu", subheap_count());
    say_memory("end");
    return 0;
}
