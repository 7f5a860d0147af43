// handover stay|sleep [SCALE]
//
// Stands for a pipeline at its limit: eight threads allocate blocks of 592 bytes, and one thread that never allocates
// frees them. Their queues are bounded, and so is what can be alive at a time ("bound"). With `sleep` a producer goes to
// sleep for ever every half second and another one takes its queue: what it allocated is freed after that.
#include <pthread.h>
#include <stdatomic.h>
#include "moments.h"

enum { PRODUCERS = 8, SIZE = 592, ROOM = 16384, BATCH = 256, SECONDS = 5, SHIFTS_A_SECOND = 2 };

static struct queue {
    pthread_mutex_t lock;
    pthread_cond_t room;
    size_t put, got;
    struct block *blocks[ROOM];
} queues[PRODUCERS];
static pthread_mutex_t news = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t something = PTHREAD_COND_INITIALIZER;
static size_t batches_waiting;
static atomic_bool leave[PRODUCERS], over;
static atomic_size_t producing;
static size_t freed, wrong;  // the consumer's until it has ended

static void say_there_is_one(void) {
    pthread_mutex_lock(&news);
    batches_waiting++;
    pthread_cond_signal(&something);
    pthread_mutex_unlock(&news);
}

static void put(struct queue *queue, struct block *const *batch) {
    pthread_mutex_lock(&queue->lock);
    while (queue->put + BATCH - queue->got > ROOM) {
        pthread_cond_wait(&queue->room, &queue->lock);
    }
    for (size_t i = 0; i < BATCH; i++) {
        queue->blocks[queue->put++ % ROOM] = batch[i];
    }
    pthread_mutex_unlock(&queue->lock);
    say_there_is_one();
}

static int get(struct queue *queue, struct block **batch) {
    pthread_mutex_lock(&queue->lock);
    int any = queue->put != queue->got;
    for (size_t i = 0; any && i < BATCH; i++) {
        batch[i] = queue->blocks[queue->got++ % ROOM];
    }
    pthread_cond_signal(&queue->room);
    pthread_mutex_unlock(&queue->lock);
    return any;
}

static void *produce(void *argument) {
    size_t number = (size_t)(uintptr_t)argument;
    struct block *batch[BATCH];
    while (!atomic_load(&over) && !atomic_load(&leave[number])) {
        for (size_t i = 0; i < BATCH; i++) {
            batch[i] = block_new(SIZE, number);
        }
        put(&queues[number], batch);
    }
    int asleep = !atomic_load(&over);
    atomic_store(&leave[number], 0);
    atomic_fetch_sub(&producing, 1);
    say_there_is_one();
    while (asleep) {
        pause();
    }
    return NULL;
}

static void *consume(void *argument) {
    struct block *batch[BATCH];
    for (size_t at = 0;; at++) {
        pthread_mutex_lock(&news);
        while (batches_waiting == 0) {
            pthread_cond_wait(&something, &news);
        }
        batches_waiting--;
        int last = batches_waiting == 0 && atomic_load(&over) && atomic_load(&producing) == 0;
        pthread_mutex_unlock(&news);
        // As many batches lie in the queues as were announced, but for those who announce that they leave.
        size_t tries = 0;
        while (tries < PRODUCERS && !get(&queues[at % PRODUCERS], batch)) {
            at++;
            tries++;
        }
        for (size_t i = 0; tries < PRODUCERS && i < BATCH; i++, freed++) {
            wrong += batch[i]->size != SIZE || batch[i]->tag >= PRODUCERS;
            block_free(batch[i]);
        }
        if (last) {
            return argument;
        }
    }
}

static pthread_t begin(void *(*body)(void *), void *argument) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, argument) != 0) {
        fprintf(stderr, "cannot start a thread\n");
        exit(1);
    }
    return thread;
}

// Who leaves says so by taking the flag back.
static void shift(size_t number) {
    atomic_store(&leave[number], 1);
    while (atomic_load(&leave[number])) {
        rest(0.001);
    }
    atomic_fetch_add(&producing, 1);
    begin(produce, (void *)(uintptr_t)number);
}

int main(int argc, char **argv) {
    int sleeping = argc > 1 && strcmp(argv[1], "sleep") == 0;
    if (argc < 2 || (!sleeping && strcmp(argv[1], "stay") != 0)) {
        fprintf(stderr, "usage: handover stay|sleep [SCALE]\n");
        return 2;
    }
    PRESENT(queues);
    for (size_t i = 0; i < PRODUCERS; i++) {
        queues[i].put = queues[i].got = 0;
        pthread_mutex_init(&queues[i].lock, NULL);
        pthread_cond_init(&queues[i].room, NULL);
    }
    start(argc, argv, 2);
    phase("handover");
    atomic_store(&producing, PRODUCERS);
    pthread_t consumer = begin(consume, NULL);
    for (size_t i = 0; i < PRODUCERS; i++) {
        begin(produce, (void *)(uintptr_t)i);
    }
    for (size_t i = 0; i < SECONDS * SHIFTS_A_SECOND; i++) {
        still(1.0 / SHIFTS_A_SECOND);
        if (sleeping) {
            shift(i % PRODUCERS);
        }
    }
    tell_point("moment", "last");
    atomic_store(&over, 1);
    pthread_join(consumer, NULL);
    phase("rest");
    still(2);
    moment("drained");
    figure("bound", (double)SIZE * (PRODUCERS * (ROOM + BATCH) + BATCH) / 1024);
    figure("handed", (double)freed);
    return end(wrong);
}
