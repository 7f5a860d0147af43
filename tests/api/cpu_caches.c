// The caches of CPUs under all that can come between two steps of a malloc or free: more threads than CPUs, signals at
// a high rate, handlers that give the CPU away, threads that move between CPUs, and forks.  Each block is full of
// a pattern of its own, so that one that is handed out to two is found.
//
//   cpu_caches MILLISECONDS [yield]     yield: the signals' handlers call sched_yield
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { THREADS = 64, BLOCKS = 48, FORKERS = 2, TICK_US = 100 };

// As <linux/rseq.h> has it.
enum { RSEQ_CPU = 4 };
extern const ptrdiff_t __rseq_offset __attribute__((weak));

static atomic_bool stop;
static atomic_ulong signals, moves, forks, rounds;
static bool handler_yields;
static uint64_t seed;
static cpu_set_t allowed;
static int cpus;

static void on_signal(int unused) {
    (void)unused;
    atomic_fetch_add_explicit(&signals, 1, memory_order_relaxed);
    int saved = errno;
    if (handler_yields)
        sched_yield();
    errno = saved;
}

static int nth_cpu(int n) {
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &allowed) && n-- == 0)
            return cpu;
    return -1;
}

static void move_to(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0)
        atomic_fetch_add_explicit(&moves, 1, memory_order_relaxed);
}

struct block {
    uint64_t *mem;
    size_t words;
    uint64_t mark;
};

static void fill(struct block *b, size_t bytes, uint64_t mark) {
    b->words = bytes / sizeof(uint64_t);
    b->mark = mark;
    b->mem = malloc(bytes);
    REQUIRE(b->mem, "no memory for %zu bytes", bytes);
    // Long ones at both ends: it is the other owner that has to be found, not each byte.
    for (size_t i = 0; i < b->words; i = i == 15 && b->words > 32 ? b->words - 16 : i + 1)
        b->mem[i] = mark + i;
}

static void let_go(struct block *b) {
    if (b->mem == NULL)
        return;
    for (size_t i = 0; i < b->words; i = i == 15 && b->words > 32 ? b->words - 16 : i + 1)
        if (b->mem[i] != b->mark + i) {
            CHECK(false, "word %zu of a block of %zu at %p is %#llx, not %#llx", i, b->words, (void *)b->mem,
                  (unsigned long long)b->mem[i], (unsigned long long)(b->mark + i));
            break;
        }
    free(b->mem);
    b->mem = NULL;
}

// Few sizes are wanted much more often than the others, so that their bins are empty and full all the time.
static size_t any_size(uint64_t *state) {
    uint32_t r = next_random(state);
    switch (r % 16) {
    case 0:
        return 16 + next_random(state) % 32000;
    case 1:
        return r / 16 % 8 == 0 ? 33000 + next_random(state) % 200000 : 2048;
    default:
        return 16 + (r >> 8) % 5 * 48;
    }
}

static void churn(struct block *blocks, uint64_t *state, int steps) {
    for (int i = 0; i < steps; i++) {
        struct block *b = &blocks[next_random(state) % BLOCKS];
        let_go(b);
        if (next_random(state) % 8 != 0)
            fill(b, any_size(state), (uint64_t)next_random(state) << 32);
    }
}

// A swing over one size: its bin runs empty and full, and deepens.
static void swing(uint64_t *state) {
    enum { MOST = 300 };
    struct block b[MOST];
    size_t n = 1 + next_random(state) % MOST, size = any_size(state) % 1024 + 16;
    for (size_t i = 0; i < n; i++)
        fill(&b[i], size, (uint64_t)next_random(state) << 32);
    for (size_t i = 0; i < n; i++)
        let_go(&b[i]);
}

static void *worker(void *number) {
    uint64_t state = seed + (uintptr_t)number * 7919;
    struct block blocks[BLOCKS] = {0};
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        churn(blocks, &state, 200);
        swing(&state);
        if (next_random(&state) % 4 == 0)
            move_to(nth_cpu((int)(next_random(&state) % (unsigned)cpus)));
        atomic_fetch_add_explicit(&rounds, 1, memory_order_relaxed);
    }
    for (int i = 0; i < BLOCKS; i++)
        let_go(&blocks[i]);
    return NULL;
}

// Others are in the middle of their steps when the process is copied.
static void *forker(void *number) {
    uint64_t state = seed + 104729 + (uintptr_t)number;
    struct block blocks[BLOCKS] = {0};
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        churn(blocks, &state, 50);
        pid_t child = fork();
        REQUIRE(child >= 0, "no fork: errno %d", errno);
        if (child == 0) {
            alarm(60); // a child that hangs dies of it, and the parent says so
            churn(blocks, &state, 2000);
            swing(&state);
            check_heap("in a child");
            _exit(check_failures != 0);
        }
        int status = -1;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        CHECK(status == 0, "a child ended with wait status %#x", (unsigned)status);
        atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
    }
    for (int i = 0; i < BLOCKS; i++)
        let_go(&blocks[i]);
    return NULL;
}

static timer_t timer_for(pid_t thread) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event._sigev_un._tid = thread;
    timer_t timer;
    REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "no timer: errno %d", errno);
    struct itimerspec each = {.it_interval = {.tv_nsec = TICK_US * 1000}, .it_value = {.tv_nsec = TICK_US * 1000}};
    REQUIRE(timer_settime(timer, 0, &each, NULL) == 0, "timer: errno %d", errno);
    return timer;
}

static void *ticked_worker(void *number) {
    timer_t timer = timer_for((pid_t)syscall(SYS_gettid));
    void *result = worker(number);
    timer_delete(timer);
    return result;
}

int main(int argc, char **argv) {
    REQUIRE(argc >= 2, "usage: cpu_caches MILLISECONDS [yield]");
    int ms = share_of(atoi(argv[1]));
    handler_yields = argc > 2 && strcmp(argv[2], "yield") == 0;
    seed = seed_from_environment((uint64_t)time(NULL));
    REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "affinity: errno %d", errno);
    cpus = CPU_COUNT(&allowed) < 2 ? CPU_COUNT(&allowed) : 2;
    int area = &__rseq_offset == NULL ? -1 : *(volatile int *)((char *)__builtin_thread_pointer() + __rseq_offset + RSEQ_CPU);
    const char *tunables = getenv("GLIBC_TUNABLES");
    if (tunables != NULL && strstr(tunables, "rseq=0") != NULL)
        REQUIRE(area < 0, "rseq is on, against the tunable");
    say("libc says CPU %d", area);
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &act, NULL);
    pthread_t threads[THREADS + FORKERS];
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, i % 4 == 0 ? ticked_worker : worker, (void *)i) == 0, "no thread");
    for (uintptr_t i = 0; i < FORKERS; i++)
        REQUIRE(pthread_create(&threads[THREADS + i], NULL, forker, (void *)i) == 0, "no thread");
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    stop = true;
    for (int i = 0; i < THREADS + FORKERS; i++)
        pthread_join(threads[i], NULL);
    say("%lu rounds, %lu signals, %lu moves, %lu forks", (unsigned long)rounds, (unsigned long)signals,
        (unsigned long)moves, (unsigned long)forks);
    CHECK(rounds > 0 && signals > 0 && moves > 0 && forks > 0, "the test did not do what it is for");
    check_heap("at the end");
    return check_result();
}
