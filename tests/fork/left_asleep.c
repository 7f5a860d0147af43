// A fork sends threads that wait for a lock of the allocator on their way; none of them may be
// forgotten. Threads share one arena without caches (the test is run with arena_max=1 and
// tcache_count=0), so that some of them always wait, while forks follow each other without pause.
// In between, every single thread has to make progress: one that sleeps for ever shows even though
// the others go on.
#include "fork.h"

enum { THREADS = 6, ROUNDS = 60, FORKS_A_ROUND = 25, PATIENCE_SECONDS = 30 };

static atomic_bool must_end;
static atomic_long progress[THREADS];

static void *contend(void *index) {
    atomic_long *mine = &progress[(uintptr_t)index];
    void *mem[8] = {0};
    while (!must_end) {
        for (size_t i = 0; i < 8; i++) {
            free(mem[i]);
            mem[i] = malloc(200 + i * 300);
        }
        ++*mine;
    }
    for (int i = 0; i < 8; i++)
        free(mem[i]);
    return NULL;
}

static void expect_progress(int round) {
    long before[THREADS];
    struct timespec begin, now;
    for (int i = 0; i < THREADS; i++)
        before[i] = progress[i];
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < THREADS; i++)
        while (progress[i] == before[i]) {
            nap(500);
            clock_gettime(CLOCK_MONOTONIC, &now);
            REQUIRE(now.tv_sec - begin.tv_sec < PATIENCE_SECONDS,
                    "round %d: thread %d has not come on for %d s", round, i, PATIENCE_SECONDS);
        }
}

int main(void) {
    require_rung();
    pthread_t t[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&t[i], NULL, contend, (void *)i) == 0, "no thread");
    for (int round = 0; round < ROUNDS; round++) {
        for (int n = 0; n < FORKS_A_ROUND; n++) {
            pid_t pid = fork();
            REQUIRE(pid >= 0, "fork: errno %d", errno);
            if (pid == 0) {
                alarm(CHILD_SECONDS);
                free(malloc(3000));
                end_child();
            }
            await_child(pid, "child");
        }
        expect_progress(round);
    }
    must_end = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    exercise_heap("in the parent at the end");
    return check_result();
}
