#include "crowd.h"

#include "probe.h"

#include <pthread.h>
#include <semaphore.h>

#define CROWD_LIMIT 4096

static pthread_t threads[CROWD_LIMIT];
static size_t started;
static crowd_body *crowd_run;
static sem_t ready;
static pthread_barrier_t meeting;

static void *thread_main(void *index) {
    crowd_run((size_t)(uintptr_t)index);
    return NULL;
}

void crowd_start(size_t count, crowd_body *body) {
    if (count > CROWD_LIMIT)
        fail("more threads than a crowd holds");
    crowd_run = body;
    sem_init(&ready, 0, 0);
    pthread_barrier_init(&meeting, NULL, (unsigned)count + 1);
    for (started = 0; started < count; started++) {
        if (pthread_create(&threads[started], NULL, thread_main, (void *)(uintptr_t)started) != 0)
            skip("this machine does not allow that many threads");
        while (sem_wait(&ready) != 0)
            continue;
    }
}

void crowd_ready(void) {
    sem_post(&ready);
}

void crowd_meet(void) {
    pthread_barrier_wait(&meeting);
}

void crowd_join(void) {
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&meeting);
    sem_destroy(&ready);
}
