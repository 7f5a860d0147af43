// server [SCALE]
//
// Stands for a server over three days, each in eight seconds: load that follows the hours, a pool of 2 to 16 threads
// that follows the load, requests that one thread takes in and another one answers, results that are cached for very
// different times (most for none, some for days) and are dropped by whatever thread comes by, uploads of some MiB, and a
// batch job at night. Sizes are distributed over powers of two from 16 bytes to 256 KiB, the small ones more often.
//
// A day has 400 ticks of 20 ms, and a tick three stages, which all threads enter together. What a thread does in a stage
// follows from the tick and its number alone: under every allocator the same blocks are allocated and freed by the same
// threads in the same order, and what is alive after a tick is the same ("live").
#include <pthread.h>
#include "moments.h"

enum {
    DAYS = 3,
    TICKS_A_DAY = 400,
    TICK_MS = 20,
    WORKERS_MIN = 2,
    WORKERS_MAX = 16,
    REQUESTS = 300,  // a tick, at full load
    UPLOAD_OF = 2000,
    BATCH_HOUR = 3,
    BATCH_BLOCKS = 1500,
    BATCH_TICKS = 20,
    WHEEL = 4096,
};

// Percent of full load, by the hour.
static const unsigned char load_of_hour[24] = {10, 7,  5,  5,  5,   8,  15, 30, 55, 75, 90, 95,
                                               85, 90, 100, 95, 85, 70, 60, 50, 40, 30, 20, 14};

struct entry {
    struct block block;
    struct entry *next;
};

// A list for each worker that filled it, so that none needs a lock; whose turn it is in the last stage empties it.
static struct entry *wheel[WHEEL][WORKERS_MAX];
static struct block *messages[REQUESTS];

static struct worker {
    _Alignas(64) pthread_t thread;
    size_t number, seen;
    size_t live;  // bytes cached less those dropped: of all workers together it is what is alive
    uint64_t sum;
} workers[WORKERS_MAX];

static size_t tick, requests, running;
enum { TAKE_IN, ANSWER, DROP, STAGES, NOTHING };
static int stage;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static size_t round_number, busy;

static uint64_t seed_of(size_t what) {
    uint64_t state = tick * 1000003 + what;
    rnd(&state);
    return state;
}

static size_t any_size(uint64_t *state) {
    size_t one = between(state, 4, 17), other = between(state, 4, 17);
    size_t base = (size_t)1 << (one < other ? one : other);
    return base + (size_t)(rnd(state) % base);
}

static uint64_t temporaries(uint64_t *state, size_t count) {
    struct block *own[32];
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        own[i] = block_new(any_size(state), i);
    }
    for (size_t i = count; i-- > 0;) {
        sum += block_free(own[i]);
    }
    return sum;
}

static void cache(struct worker *worker, size_t size, size_t ticks) {
    size = size < sizeof(struct entry) ? sizeof(struct entry) : size;
    struct entry *entry = (struct entry *)block_new(size, ticks);
    struct entry **list = &wheel[(tick + ticks) % WHEEL][worker->number];
    entry->next = *list;
    *list = entry;
    worker->live += size;
}

// In ticks: of a hundred results 80 are not kept, 15 for half a second, nearly 5 for seconds, a few for days.
static size_t lifetime(uint64_t *state) {
    size_t draw = between(state, 0, 999);
    return draw < 800 ? 0 : draw < 950 ? between(state, 1, 25) : draw < 995 ? between(state, 25, 500) : between(state, 500, WHEEL - 1);
}

static void take_in(struct worker *worker, size_t request) {
    uint64_t state = seed_of(request);
    worker->sum += temporaries(&state, between(&state, 8, 32));
    size_t size = between(&state, 1, UPLOAD_OF) == 1 ? between(&state, 1 << 20, 8 << 20) : any_size(&state);
    messages[request] = block_new(size, request);
}

static void answer(struct worker *worker, size_t request) {
    uint64_t state = seed_of(REQUESTS + request);
    size_t results = between(&state, 2, 10);
    worker->sum += temporaries(&state, between(&state, 4, 12));
    for (size_t i = 0; i < results; i++) {
        size_t size = any_size(&state), ticks = lifetime(&state);
        if (ticks) {
            cache(worker, size, ticks);
        } else {
            worker->sum += block_free(block_new(size, i));
        }
    }
    // Now and then an upload is worth keeping for a while.
    if (messages[request]->size >= 1 << 20 && request % 4 == 0) {
        cache(worker, messages[request]->size, between(&state, 10, 100));
    }
    worker->sum += block_free(messages[request]);
}

static void batch(struct worker *worker) {
    uint64_t state = seed_of(2 * REQUESTS);
    for (size_t i = 0; i < BATCH_BLOCKS; i++) {
        cache(worker, log_between(&state, 12, 16), BATCH_TICKS);
    }
}

static void drop(struct worker *worker, struct entry **list) {
    while (*list) {
        struct entry *entry = *list;
        *list = entry->next;
        worker->live -= entry->block.size;
        worker->sum += block_free(&entry->block);
    }
}

static void work(struct worker *worker) {
    switch (stage) {
    case TAKE_IN:
        for (size_t request = worker->number; request < requests; request += running) {
            take_in(worker, request);
        }
        break;
    case ANSWER:
        for (size_t request = (worker->number + 1) % running; request < requests; request += running) {
            answer(worker, request);
        }
        if (worker->number == 0 && tick % TICKS_A_DAY == TICKS_A_DAY * BATCH_HOUR / 24) {
            batch(worker);
        }
        break;
    case DROP:
        for (size_t list = 0; list < WORKERS_MAX; list++) {
            if ((list + tick) % running == worker->number) {
                drop(worker, &wheel[tick % WHEEL][list]);
            }
        }
        break;
    default:
        break;
    }
}

static void *body(void *argument) {
    struct worker *worker = argument;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (round_number == worker->seen) {
            pthread_cond_wait(&go, &lock);
        }
        worker->seen = round_number;
        if (worker->number >= running) {
            break;
        }
        pthread_mutex_unlock(&lock);
        work(worker);
        pthread_mutex_lock(&lock);
        if (--busy == 0) {
            pthread_cond_signal(&done);
        }
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

// The first `count` threads go through a stage; the others end.
static void all_do(int next, size_t count) {
    pthread_mutex_lock(&lock);
    stage = next;
    busy = running = count;
    round_number++;
    pthread_cond_broadcast(&go);
    while (busy > 0) {
        pthread_cond_wait(&done, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void resize_pool(size_t count) {
    size_t before = running;
    if (count < before) {
        all_do(NOTHING, count);
    }
    for (size_t i = count; i < before; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    for (size_t i = before; i < count; i++) {
        workers[i].number = i;
        workers[i].seen = round_number;
        if (pthread_create(&workers[i].thread, NULL, body, &workers[i]) != 0) {
            fprintf(stderr, "cannot start a thread\n");
            exit(1);
        }
    }
    running = count;
}

static size_t load_now(void) {
    size_t at = tick % TICKS_A_DAY * 24, hour = at / TICKS_A_DAY, part = at % TICKS_A_DAY;
    return (load_of_hour[hour] * (TICKS_A_DAY - part) + load_of_hour[(hour + 1) % 24] * part) / TICKS_A_DAY;
}

static size_t alive(void) {
    size_t bytes = 0;
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        bytes += workers[i].live;
    }
    return bytes;
}

static void wait_until(long long ns) {
    struct timespec when = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) != 0) {
    }
}

int main(int argc, char **argv) {
    uint64_t sum = 0;
    size_t late = 0;
    memset(wheel, 0, sizeof wheel);
    PRESENT(messages);
    start(argc, argv, 1);
    size_t ticks = scaled((size_t)DAYS * TICKS_A_DAY, argc, argv, 1);
    long long begin = monotonic_ns(), span = (long long)TICK_MS * 1000000;
    phase("days");
    for (tick = 0; tick < ticks; tick++) {
        size_t load = load_now();
        requests = REQUESTS * load / 100;
        resize_pool(WORKERS_MIN + (WORKERS_MAX - WORKERS_MIN) * load / 100);
        for (int next = TAKE_IN; next < STAGES; next++) {
            all_do(next, running);
        }
        live(alive());
        late += monotonic_ns() > begin + span * (long long)(tick + 1);
        wait_until(begin + span * (long long)(tick + 1));
    }
    phase("rest");
    still(2);
    live(alive());
    moment("night");
    phase("close");
    resize_pool(0);
    for (size_t slot = 0; slot < WHEEL; slot++) {
        for (size_t list = 0; list < WORKERS_MAX; list++) {
            drop(&workers[list], &wheel[slot][list]);
        }
    }
    live(alive());
    phase("rest");
    still(2);
    live(alive());
    moment("closed");
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        sum += workers[i].sum;
    }
    figure("late", (double)late);
    return end(sum);
}
