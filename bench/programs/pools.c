// pools [SCALE]
//
// Stands for pools of threads in a server: 32 threads, one after another, have three bursts of 20,000 blocks of 64 to
// 2063 bytes each, keep every hundredth block of the last and go to sleep. What they gave up is nobody's for as long
// as they sleep, which is for ever.
#include <pthread.h>
#include <semaphore.h>
#include "moments.h"

enum { THREADS = 32, BURSTS = 3, BLOCKS = 20000, KEPT = 100, SMALLEST = 64, LARGEST = 2063 };

static struct block *blocks[BLOCKS];
static struct block *kept[THREADS][BLOCKS / KEPT];
static size_t count;
static sem_t done;

static void burst(uint64_t *state, struct block **keep) {
    for (size_t i = 0; i < count; i++) {
        blocks[i] = block_new(between(state, SMALLEST, LARGEST), i);
    }
    for (size_t i = 0; i < count; i++) {
        if (keep && i % KEPT == 0) {
            keep[i / KEPT] = blocks[i];
        } else {
            block_free(blocks[i]);
        }
    }
}

static void *body(void *argument) {
    size_t number = (size_t)(uintptr_t)argument;
    uint64_t state = number + 1;
    for (size_t i = 1; i <= BURSTS; i++) {
        burst(&state, i == BURSTS ? kept[number] : NULL);
    }
    sem_post(&done);
    for (;;) {
        pause();
    }
    return NULL;
}

int main(int argc, char **argv) {
    uint64_t sum = 0;
    size_t bytes = 0;
    PRESENT(blocks);
    PRESENT(kept);
    sem_init(&done, 0, 0);
    start(argc, argv, 1);
    count = scaled(BLOCKS, argc, argv, 1);
    count = count > BLOCKS ? BLOCKS : count;
    phase("bursts");
    for (size_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, body, (void *)(uintptr_t)i) != 0) {
            fprintf(stderr, "cannot start a thread\n");
            return 1;
        }
        while (sem_wait(&done) != 0) {
        }
    }
    phase("rest");
    still(3);
    moment("settled");
    for (size_t i = 0; i < THREADS; i++) {
        for (size_t k = 0; k < (count + KEPT - 1) / KEPT; k++) {
            sum = sum * 31 + (kept[i][k]->tag ^ kept[i][k]->size);
            bytes += kept[i][k]->size;
        }
    }
    live(bytes);
    return end(sum);
}
