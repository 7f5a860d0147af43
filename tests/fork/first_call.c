// A thread whose first calls fall between another thread's freeze and thaw is served around the locks, and gets its
// cache with a later call, once the fork is over.
#include "counters.h"
#include "fork.h"
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>

static sem_t go, did, over;

static void *newcomer(void *unused) {
    sem_wait(&go);
    for (size_t size = 10; size < 100000; size *= 3)
        free(malloc(size));
    void *kept = malloc(50);
    sem_post(&did);
    sem_wait(&over);
    size_t before = counter("tcaches");
    free(kept);
    for (int i = 0; i < 1000; i++)
        free(malloc(50));
    size_t locks = counter("lock_acquisitions");
    for (int i = 0; i < 1000; i++)
        free(malloc(50));
    CHECK(counter("lock_acquisitions") < locks + 100, "1000 pairs took %zu locks: nothing is cached",
          counter("lock_acquisitions") - locks);
    size_t after = counter("tcaches"); // with runs a CPU's cache serves it, which may have been there before
    CHECK(option_value("runs") ? after >= before : after == before + 1, "%zu thread caches before the first call after the fork, %zu after it",
          before, after);
    return unused;
}

// Called after the library's own prepare handler, since it was registered before that one, in front of all
// constructors: the last to be registered is the first to be called.
static void in_the_freeze(void) {
    sem_post(&go);
    sem_wait(&did);
}

static void first(void) {
    pthread_atfork(in_the_freeze, NULL, NULL);
}

__attribute__((section(".preinit_array"), used)) static void (*in_front)(void) = first;

int main(void) {
    require_rung();
    sem_init(&go, 0, 0), sem_init(&did, 0, 0), sem_init(&over, 0, 0);
    pthread_t t;
    REQUIRE(pthread_create(&t, NULL, newcomer, NULL) == 0, "no thread");
    size_t around = counter("served_around");
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    CHECK(counter("served_around") > around, "nobody was served around the fork: the test shows nothing");
    sem_post(&over);
    pthread_join(t, NULL);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0, "the child: %d", status);
    check_heap("at the end");
    return check_result();
}
