// dying [SCALE]
//
// Stands for a thread a request: 20,000 threads of 64 allocations and 64 frees, one after another. Nothing of a dead
// thread may stay behind. At last a thread leaves a block of 64 MiB when it dies, and another one frees it.
#include <pthread.h>
#include "moments.h"

enum { THREADS = 20000, BLOCKS = 64, WARM = 20, LARGE = 64 << 20 };

static void *brief(void *argument) {
    struct block *own[BLOCKS];
    uint64_t state = (uint64_t)(uintptr_t)argument;
    for (size_t i = 0; i < BLOCKS; i++) {
        own[i] = block_new(log_between(&state, 4, 12), i);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        block_free(own[i]);
    }
    return NULL;
}

static void *leave_large(void *argument) {
    return block_new(LARGE, (uint64_t)(uintptr_t)argument);
}

static void *run(void *(*body)(void *), size_t number) {
    pthread_t thread;
    void *result;
    if (pthread_create(&thread, NULL, body, (void *)(uintptr_t)number) != 0) {
        fprintf(stderr, "cannot start a thread\n");
        exit(1);
    }
    pthread_join(thread, &result);
    return result;
}

int main(int argc, char **argv) {
    start(argc, argv, 1);
    size_t threads = scaled(THREADS, argc, argv, 1);
    phase("threads");
    for (size_t i = 0; i < threads; i++) {
        run(brief, i + 1);
        if (i == threads / WARM) {
            moment("warm");
        }
    }
    moment("later");
    phase("large");
    struct block *block = run(leave_large, 1);
    moment("left");
    uint64_t sum = block_free(block);
    phase("rest");
    still(2);
    moment("returned");
    return end(sum);
}
