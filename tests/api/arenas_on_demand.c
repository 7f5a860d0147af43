// Row N1 and FIELD 19: how many arenas the threads of a real program come to, with blocks that are too
// large for the objects of runs, so that it is the same with and without those.
//
//   apart    threads that allocate one after another: one arena
//   crowd    threads that are in each other's way: more than one, but no more than arena_max
//   one_cpu  the same on a single CPU: one arena, however many threads there are
#include "check.h"
#include <pthread.h>
#include <sched.h>

enum { THREADS = 16, SMALLEST = 40000, LARGEST = 80000, SLOTS = 8, CROWD_MAX = 3 };

static size_t arenas(void) {
    size_t (*counter)(const char *) = NULL;
    void *f = dlsym(RTLD_DEFAULT, "rung_counter");
    REQUIRE(f, "the library does not export rung_counter");
    memcpy(&counter, &f, sizeof f);
    return counter("arenas");
}

static void replace(void **slots, uint64_t *random) {
    uint32_t r = next_random(random);
    void **slot = &slots[r % SLOTS];
    free(*slot);
    *slot = malloc(SMALLEST + (r >> 8) % (LARGEST - SMALLEST));
    REQUIRE(*slot, "no memory");
    *(volatile char *)*slot = 1;
}

static void let_go(void **slots) {
    for (int i = 0; i < SLOTS; i++)
        free(slots[i]);
}

// ---- apart

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;

static void *work_apart(void *number) {
    void *slots[SLOTS] = {NULL};
    uint64_t random = (uintptr_t)number;
    for (int round = 0; round < 20; round++) {
        pthread_mutex_lock(&one_at_a_time);
        for (int i = 0; i < 20; i++)
            replace(slots, &random);
        pthread_mutex_unlock(&one_at_a_time);
    }
    pthread_barrier_wait(&all); // all of them alive at once
    pthread_mutex_lock(&one_at_a_time);
    let_go(slots);
    pthread_mutex_unlock(&one_at_a_time);
    return NULL;
}

// ---- together

static size_t steps; // 0: until told
static bool enough;

static void *work_together(void *number) {
    void *slots[SLOTS] = {NULL};
    uint64_t random = (uintptr_t)number;
    for (size_t i = 0; steps ? i < steps : !__atomic_load_n(&enough, __ATOMIC_RELAXED); i++)
        replace(slots, &random);
    let_go(slots);
    return NULL;
}

static pthread_t threads[THREADS];

static void start_threads(void *(*work)(void *)) {
    for (size_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0, "no thread");
}

static void join_threads(void) {
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static int usable_cpus(void) {
    cpu_set_t set;
    REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0, "sched_getaffinity: errno %d", errno);
    return CPU_COUNT(&set);
}

static void run_apart(void) {
    pthread_barrier_init(&all, NULL, THREADS);
    start_threads(work_apart);
    join_threads();
}

static void test_apart(void) {
    run_apart();
    CHECK(arenas() == 1, "%d threads that never met have %zu arenas", THREADS, arenas());
}

// Threads have to meet at the lock, for which they must run at the same time: until they did.
static void test_crowd(void) {
    if (usable_cpus() < 2)
        SKIP("a single CPU: threads hardly ever wait for each other's locks");
    start_threads(work_together);
    while (arenas() < 2)
        usleep(1000);
    for (int i = 0; i < 200; i++) {
        CHECK(arenas() <= CROWD_MAX, "arena_max is %d, and there are %zu", CROWD_MAX, arenas());
        usleep(1000);
    }
    __atomic_store_n(&enough, true, __ATOMIC_RELAXED);
    join_threads();
    // Threads that come now find what those left.
    size_t before = arenas();
    run_apart();
    CHECK(arenas() == before, "%zu arenas were left, now there are %zu", before, arenas());
}

static void test_one_cpu(char **argv) {
    cpu_set_t set;
    if (usable_cpus() > 1) { // what may be used is read at start-up: start again with less
        REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0, "sched_getaffinity: errno %d", errno);
        size_t first = 0;
        while (!CPU_ISSET(first, &set))
            first++;
        CPU_ZERO(&set);
        CPU_SET(first, &set);
        REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0, "sched_setaffinity: errno %d", errno);
        execv("/proc/self/exe", argv);
        REQUIRE(false, "cannot start again: errno %d", errno);
    }
    steps = 3000;
    start_threads(work_together);
    join_threads();
    CHECK(arenas() == 1, "%d threads on one CPU have %zu arenas", THREADS, arenas());
}

int main(int argc, char **argv) {
    if (on_host_malloc())
        SKIP("the system's malloc makes an arena a thread");
    require_rung();
    REQUIRE(argc == 2, "usage: arenas_on_demand apart|crowd|one_cpu");
    if (strcmp(argv[1], "apart") == 0)
        test_apart();
    else if (strcmp(argv[1], "crowd") == 0)
        test_crowd();
    else if (strcmp(argv[1], "one_cpu") == 0)
        test_one_cpu(argv);
    else
        REQUIRE(false, "there is no case %s", argv[1]);
    check_heap("at the end");
    return check_result();
}
