// Two threads fork at the same moment, one of them holding the lock of a stream that a third one
// waits for, while a fourth allocates without pause.
#include "fork.h"

enum { ROUNDS = 150 };

static int rounds;

static pthread_barrier_t start, finish;
static FILE *stream;
static atomic_bool must_end;

static void child(const char *who) {
    alarm(CHILD_SECONDS);
    exercise_heap(who);
    work_out(&the_allocator, 1, 300);
    check_heap(who);
    end_child();
}

static void *fork_with_stream_lock(void *unused) {
    for (int n = 0; n < rounds; n++) {
        pthread_barrier_wait(&start);
        flockfile(stream);
        void *mem = malloc(3000);
        pid_t pid = fork();
        REQUIRE(pid >= 0, "fork: errno %d", errno);
        if (pid == 0)
            child("in the child of the thread with the stream");
        free(mem);
        funlockfile(stream);
        use_every_class();
        await_child(pid, "child of the thread with the stream");
        pthread_barrier_wait(&finish);
    }
    return unused;
}

static void *fork_without(void *unused) {
    for (int n = 0; n < rounds; n++) {
        pthread_barrier_wait(&start);
        for (int i = n % 10; i > 0; i--) // the two forks meet at different points
            free(malloc((size_t)n * 10));
        pid_t pid = fork();
        REQUIRE(pid >= 0, "fork: errno %d", errno);
        if (pid == 0)
            child("in the child of the other thread");
        use_every_class();
        await_child(pid, "child of the other thread");
        pthread_barrier_wait(&finish);
    }
    return unused;
}

static void *write_to_stream(void *unused) {
    for (int n = 0; n < rounds; n++) {
        pthread_barrier_wait(&start);
        for (int i = 0; i < 20; i++) {
            flockfile(stream);
            void *mem = malloc((size_t)(n * i));
            fprintf(stream, "%d %p\n", n, mem);
            free(mem);
            funlockfile(stream);
        }
        pthread_barrier_wait(&finish);
    }
    return unused;
}

static void *allocate(void *unused) {
    for (uint64_t seed = 0; !must_end; seed++)
        work_out(&the_allocator, seed, 200);
    return unused;
}

int main(void) {
    require_rung();
    rounds = share_of(ROUNDS);
    static void *(*const parts[])(void *) = {fork_with_stream_lock, fork_without, write_to_stream,
                                             allocate};
    pthread_t t[4];
    stream = fopen("/dev/null", "w");
    REQUIRE(stream, "no /dev/null: errno %d", errno);
    pthread_barrier_init(&start, NULL, 3);
    pthread_barrier_init(&finish, NULL, 3);
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&t[i], NULL, parts[i], NULL) == 0, "no thread");
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    must_end = true;
    pthread_join(t[3], NULL);
    fclose(stream);
    exercise_heap("in the parent at the end");
    return check_result();
}
