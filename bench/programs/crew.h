// Starts the same function in several threads, each with its number, and adds up what they return.
#pragma once
#include <pthread.h>
#include "work.h"

struct crew_member {
    pthread_t thread;
    size_t number;
    uint64_t (*body)(size_t number);
    uint64_t sum;
};

static inline void *crew_enter(void *argument) {
    struct crew_member *member = argument;
    member->sum = member->body(member->number);
    return NULL;
}

enum { CREW_MAX = 64 };

static inline uint64_t crew_run(size_t count, uint64_t (*body)(size_t number)) {
    static struct crew_member members[CREW_MAX];
    uint64_t sum = 0;
    if (count < 1 || count > CREW_MAX) {
        fprintf(stderr, "the number of threads must be 1 to %d\n", CREW_MAX);
        exit(2);
    }
    for (size_t i = 0; i < count; i++) {
        members[i] = (struct crew_member){.number = i, .body = body};
        if (pthread_create(&members[i].thread, NULL, crew_enter, &members[i]) != 0) {
            fprintf(stderr, "cannot start a thread\n");
            exit(1);
        }
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(members[i].thread, NULL);
        sum += members[i].sum;
    }
    return sum;
}
