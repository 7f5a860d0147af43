// handoff [SCALE]
//
// Stands for a pipeline: one thread of each pair makes messages, the other reads and frees them, so that every
// block is freed by a thread that did not allocate it. Messages travel in batches, so that it is the allocator
// and not the queue that is measured. Each maker keeps a store of its own throughout, as servers have state.
#include "crew.h"

enum { PAIRS = 2, BATCH = 256, QUEUE = 16, BATCHES = 20000, STORE = 30000 };

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct block **batches[QUEUE];
    size_t put, got;
};

static struct queue queues[PAIRS];
static size_t batches;

static void put(struct queue *queue, struct block **batch) {
    pthread_mutex_lock(&queue->lock);
    while (queue->put - queue->got == QUEUE) {
        pthread_cond_wait(&queue->changed, &queue->lock);
    }
    queue->batches[queue->put++ % QUEUE] = batch;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static struct block **get(struct queue *queue) {
    pthread_mutex_lock(&queue->lock);
    while (queue->put == queue->got) {
        pthread_cond_wait(&queue->changed, &queue->lock);
    }
    struct block **batch = queue->batches[queue->got++ % QUEUE];
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return batch;
}

static uint64_t produce(struct queue *queue, uint64_t state) {
    struct block **store = need(malloc(STORE * sizeof *store));
    uint64_t sum = 0;
    for (size_t i = 0; i < STORE; i++) {
        store[i] = block_new(between(&state, 64, 1024), i);
    }
    for (size_t n = 0; n < batches; n++) {
        struct block **batch = need(malloc(BATCH * sizeof *batch));
        for (size_t i = 0; i < BATCH; i++) {
            batch[i] = block_new(between(&state, 64, 1024), n + i);
        }
        put(queue, batch);
    }
    for (size_t i = 0; i < STORE; i++) {
        sum += block_free(store[i]);
    }
    free(store);
    return sum;
}

static uint64_t consume(struct queue *queue) {
    uint64_t sum = 0;
    for (size_t n = 0; n < batches; n++) {
        struct block **batch = get(queue);
        for (size_t i = 0; i < BATCH; i++) {
            sum = sum * 31 + block_free(batch[i]);
        }
        free(batch);
    }
    return sum;
}

static uint64_t body(size_t number) {
    struct queue *queue = &queues[number / 2];
    return number % 2 ? consume(queue) : produce(queue, number + 1);
}

int main(int argc, char **argv) {
    batches = scaled(BATCHES, argc, argv, 1);
    for (size_t i = 0; i < PAIRS; i++) {
        pthread_mutex_init(&queues[i].lock, NULL);
        pthread_cond_init(&queues[i].changed, NULL);
    }
    return finish(crew_run((size_t)2 * PAIRS, body));
}
