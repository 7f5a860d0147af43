// mixed [SCALE]
//
// Stands for a server: four threads, sizes from 16 bytes to 64 KiB, and every second block is freed by another
// thread than the one that allocated it. A block to be freed elsewhere is left in its neighbour's inbox; a thread
// whose neighbour's inbox is full empties its own while it waits, so that nobody waits for ever.
#include <sched.h>
#include <stdatomic.h>
#include "crew.h"

enum { THREADS = 4, SLOTS = 4000, INBOX = 512, STEPS = 2400000, LOOK_EVERY = 64 };

static struct inbox {
    pthread_mutex_t lock;
    size_t count;
    struct block *blocks[INBOX];
} inboxes[THREADS];

static size_t steps;
static atomic_size_t working;

static uint64_t empty(struct inbox *inbox) {
    struct block *taken[INBOX];
    uint64_t sum = 0;
    pthread_mutex_lock(&inbox->lock);
    size_t count = inbox->count;
    memcpy(taken, inbox->blocks, count * sizeof taken[0]);
    inbox->count = 0;
    pthread_mutex_unlock(&inbox->lock);
    for (size_t i = 0; i < count; i++) {
        sum += block_free(taken[i]);
    }
    return sum;
}

static uint64_t leave(struct inbox *theirs, struct inbox *own, struct block *block) {
    uint64_t sum = 0;
    for (;;) {
        pthread_mutex_lock(&theirs->lock);
        int room = theirs->count < INBOX;
        if (room) {
            theirs->blocks[theirs->count++] = block;
        }
        pthread_mutex_unlock(&theirs->lock);
        if (room) {
            return sum;
        }
        sum += empty(own);
        sched_yield();
    }
}

static uint64_t body(size_t number) {
    struct inbox *own = &inboxes[number], *theirs = &inboxes[(number + 1) % THREADS];
    struct block **live = need(calloc(SLOTS, sizeof *live));
    uint64_t state = number + 1, sum = 0;
    for (size_t step = 0; step < steps / THREADS; step++) {
        size_t slot = between(&state, 0, SLOTS - 1);
        if (live[slot]) {
            sum += step % 2 ? block_free(live[slot]) : leave(theirs, own, live[slot]);
        }
        live[slot] = block_new(log_between(&state, 4, 16), step);
        if (step % LOOK_EVERY == 0) {
            sum += empty(own);
        }
    }
    for (size_t slot = 0; slot < SLOTS; slot++) {
        if (live[slot]) {
            sum += block_free(live[slot]);
        }
    }
    free(live);
    // The neighbour before may still leave blocks here.
    atomic_fetch_sub(&working, 1);
    while (atomic_load(&working) > 0) {
        sum += empty(own);
        sched_yield();
    }
    return sum + empty(own);
}

int main(int argc, char **argv) {
    steps = scaled(STEPS, argc, argv, 1);
    atomic_store(&working, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_mutex_init(&inboxes[i].lock, NULL);
    }
    return finish(crew_run(THREADS, body));
}
