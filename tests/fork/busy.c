// FIELD 26: 150 forks beside 8 busy threads; children allocate in every size, start threads and
// have children of their own.
#include "fork.h"

enum { THREADS = 8, FORKS = 150, SHARED = 256 };

static atomic_bool must_end;

// Blocks change hands between the busy threads, so that some are freed by others than who allocated
// them.
static _Atomic(void *) shared[SHARED];

static void *busy(void *seed) {
    uint64_t state = (uint64_t)(uintptr_t)seed;
    while (!must_end) {
        for (int i = 0; i < 200; i++) {
            size_t size = next_random(&state) % (i % 50 == 0 ? 200000 : 2000);
            void *mem = malloc(size);
            REQUIRE(mem, "no memory");
            memset(mem, 1, size < 64 ? size : 64);
            free(atomic_exchange(&shared[next_random(&state) % SHARED], mem));
        }
        work_out(&the_allocator, state, 100);
    }
    return NULL;
}

static void *thread_in_child(void *seed) {
    work_out(&the_allocator, (uint64_t)(uintptr_t)seed, 200);
    exercise_heap("in a thread of the child");
    return malloc(100);
}

static void child(int n) {
    alarm(CHILD_SECONDS);
    exercise_heap("in the child");
    for (size_t i = 0; i < SHARED; i++) // what other threads left, the child frees
        free(atomic_exchange(&shared[i], NULL));
    if (n % 3 == 0) {
        pthread_t t[3];
        for (int i = 0; i < 3; i++)
            REQUIRE(pthread_create(&t[i], NULL, thread_in_child, (void *)(uintptr_t)(n + i)) == 0,
                    "no thread");
        if (n % 2 == 0) { // a grandchild while the child's threads run
            pid_t pid = fork();
            if (pid == 0) {
                alarm(CHILD_SECONDS);
                exercise_heap("in the grandchild");
                work_out(&the_allocator, 3, 100);
                end_child();
            }
            await_child(pid, "grandchild");
        }
        for (int i = 0; i < 3; i++) {
            void *mem;
            pthread_join(t[i], &mem);
            free(mem);
        }
    } else if (n % 3 == 1) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(CHILD_SECONDS);
            exercise_heap("in the grandchild");
            end_child();
        }
        await_child(pid, "grandchild");
    }
    work_out(&the_allocator, (uint64_t)n, 200);
    malloc_trim(0);
    check_heap("at the child's end");
    end_child();
}

int main(void) {
    require_rung();
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&t[i], NULL, busy, (void *)(uintptr_t)(i + 1)) == 0, "no thread");
    for (int n = 0; n < share_of(FORKS) && !check_failures; n++) {
        pid_t pid = fork();
        REQUIRE(pid >= 0, "fork %d: errno %d", n, errno);
        if (pid == 0)
            child(n);
        use_every_class();
        await_child(pid, "child");
    }
    must_end = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    exercise_heap("in the parent at the end");
    return check_result();
}
