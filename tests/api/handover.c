// FIELD 6: eight threads allocate, one that never allocates frees. Memory stays near what the queues between
// them can hold, also when producers fall asleep for ever and what they allocated is freed after that.
//
//   stay   the same producers all the time
//   sleep  one after another goes to sleep, and another one takes its queue
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>

enum { PRODUCERS = 8, SIZE = 592, ROOM = 16384, ROUNDS = 20 };

// A ring with one writer and one reader.
static struct queue {
    _Atomic size_t put, got;
    void *block[ROOM];
} queues[PRODUCERS];

static atomic_bool leave[PRODUCERS], over;
static atomic_int producing;

static void let_others_run(void) {
    usleep(200);
}

static void *produce(void *number) {
    size_t n = (size_t)(uintptr_t)number;
    struct queue *q = &queues[n];
    while (!over && !leave[n]) {
        size_t put = q->put;
        if (put - q->got == ROOM) {
            let_others_run();
            continue;
        }
        void *mem = malloc(SIZE);
        REQUIRE(mem, "no memory");
        memset(mem, (int)n, SIZE);
        q->block[put % ROOM] = mem;
        q->put = put + 1;
    }
    bool asleep = !over;
    leave[n] = false;
    producing--;
    while (asleep)
        pause();
    return NULL;
}

static bool take_batch(size_t n) {
    struct queue *q = &queues[n];
    size_t got = q->got, put = q->put, end = put - got > 256 ? got + 256 : put;
    if (got == put)
        return false;
    for (; got < end; got++) {
        const unsigned char *mem = q->block[got % ROOM];
        CHECK(mem[0] == n && mem[SIZE - 1] == n, "a block of producer %zu begins with %d", n, mem[0]);
        free(q->block[got % ROOM]);
    }
    q->got = got;
    return true;
}

static size_t handed_over(void) {
    size_t sum = 0;
    for (size_t n = 0; n < PRODUCERS; n++)
        sum += queues[n].got;
    return sum;
}

static void *consume(void *unused) {
    for (bool last = false; !last;) {
        last = over && producing == 0;
        bool any = false;
        for (size_t n = 0; n < PRODUCERS; n++)
            while (take_batch(n))
                any = true;
        if (!any && !last)
            let_others_run();
    }
    return unused;
}

static pthread_t start(void *(*body)(void *), size_t number) {
    pthread_t t;
    REQUIRE(pthread_create(&t, NULL, body, (void *)(uintptr_t)number) == 0, "no thread");
    return t;
}

// Who leaves takes the flag back.
static void change_shift(size_t n) {
    leave[n] = true;
    while (leave[n])
        usleep(100);
    producing++;
    start(produce, n);
}

int main(int argc, char **argv) {
    require_rung();
    bool sleeping = argc == 2 && strcmp(argv[1], "sleep") == 0;
    REQUIRE(sleeping || (argc == 2 && strcmp(argv[1], "stay") == 0), "usage: handover stay|sleep");
    for (size_t n = 0; n < PRODUCERS; n++)
        memset(queues[n].block, 1, sizeof queues[n].block);
    long before = status_kib("VmRSS");
    producing = PRODUCERS;
    pthread_t consumer = start(consume, 0);
    for (size_t n = 0; n < PRODUCERS; n++)
        start(produce, n);
    for (size_t i = 0; i < ROUNDS; i++) {
        usleep(100 * 1000);
        if (sleeping)
            change_shift(i % PRODUCERS);
    }
    // On a machine that is very busy it may take longer until each place of the queues was used once.
    while (handed_over() < (size_t)PRODUCERS * ROOM)
        usleep(100 * 1000);
    over = true;
    pthread_join(consumer, NULL);
    long peak = status_kib("VmHWM") - before, bound = (long)PRODUCERS * (ROOM + 256) * SIZE / 1024;
    say("handed over %zu blocks; at most %ld KiB more than at the start, %ld KiB can be live", handed_over(), peak,
        bound);
    CHECK(peak < bound * 11 / 10, "%ld KiB were resident, where %ld KiB can be live", peak, bound);
    check_heap("at the end");
    return check_result();
}
