/* One thread allocates 1,000 blocks of 200 bytes, another frees them all. Whose memory are they then?
 * After each step: malloc_info, by which the producer's arena can be followed; and for what the consumer allocates
 * afterwards, which of the freed blocks each one is (-1: none of them, memory of its own arena). */
#include "probe.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCKS 1000
#define AGAIN 40
#define BLOCK_SIZE 200

/* A thread that does one thing at a time, when it is told to. */
struct actor {
    pthread_t thread;
    sem_t told, done;
    void (*step)(void); /* NULL: end */
};

static void *blocks[BLOCKS], *again[AGAIN];
static uintptr_t producer_arena, consumer_arena;

static void *act(void *self) {
    struct actor *actor = self;
    for (;;) {
        while (sem_wait(&actor->told) != 0)
            continue;
        if (actor->step == NULL)
            return NULL;
        actor->step();
        sem_post(&actor->done);
    }
}

static void enter(struct actor *actor) {
    sem_init(&actor->told, 0, 0);
    sem_init(&actor->done, 0, 0);
    if (pthread_create(&actor->thread, NULL, act, actor) != 0)
        fail("no thread could be started");
}

static void perform(struct actor *actor, void (*step)(void)) {
    actor->step = step;
    sem_post(&actor->told);
    while (sem_wait(&actor->done) != 0)
        continue;
}

static void leave(struct actor *actor) {
    actor->step = NULL;
    sem_post(&actor->told);
    pthread_join(actor->thread, NULL);
}

static void produce(void) {
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(BLOCK_SIZE);
    producer_arena = subheap_of(blocks[0]);
}

/* Larger than what the cache takes: it binds the consumer to an arena. */
static void consumer_begins(void) {
    void *own = malloc(3000);
    consumer_arena = subheap_of(own);
}

static void consume(void) {
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static void allocate_again(void) {
    for (int i = 0; i < AGAIN; i++)
        again[i] = malloc(BLOCK_SIZE);
}

static void free_again(void) {
    for (int i = 0; i < AGAIN; i++)
        free(again[i]);
}

/* Which blocks came back, and how many of the new ones lie in each thread's arena. */
static void say_again(const char *who) {
    static long which[AGAIN];
    long in_producers = 0, in_consumers = 0;
    char key[64];
    for (int i = 0; i < AGAIN; i++) {
        which[i] = -1;
        for (int j = 0; j < BLOCKS; j++)
            if (again[i] == blocks[j])
                which[i] = j;
        in_producers += subheap_of(again[i]) == producer_arena;
        in_consumers += subheap_of(again[i]) == consumer_arena;
    }
    say("%s.in_producers_arena=%ld", who, in_producers);
    say("%s.in_consumers_arena=%ld", who, in_consumers);
    snprintf(key, sizeof key, "%s.which", who);
    say_list(key, which, AGAIN);
}

int main(void) {
    struct actor producer, consumer;
    enter(&producer);
    perform(&producer, produce);
    enter(&consumer);
    perform(&consumer, consumer_begins);
    say("arenas_differ=%d",
        producer_arena != consumer_arena && producer_arena != 0 && consumer_arena != 0);
    say_malloc_info("produced");
    perform(&consumer, consume);
    say_malloc_info("consumed");
    perform(&consumer, allocate_again);
    say_again("consumer_again");
    perform(&consumer, free_again);
    leave(&consumer);
    say_malloc_info("consumer_gone");
    perform(&producer, allocate_again);
    say_again("producer_again");
    leave(&producer);
    return 0;
}
