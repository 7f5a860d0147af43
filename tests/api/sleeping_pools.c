// FIELD 1: threads of pools have bursts one after another, keep little and go to sleep for ever: what they
// gave up is of use to the next, or goes back.
#include "check.h"
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

enum { THREADS = 32, BURSTS = 3, BLOCKS = 20000, KEPT_OF = 100 };

// So much may be left, the live blocks included.
static const long ALLOWED_KIB = 44 << 10;

static void *blocks[BLOCKS];
static uint64_t random_state;
static size_t live_bytes;
static sem_t done;

static size_t burst(bool keep) {
    static size_t sizes[BLOCKS];
    size_t kept = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        sizes[i] = 64 + next_random(&random_state) % 2000;
        blocks[i] = malloc(sizes[i]);
        REQUIRE(blocks[i], "no memory");
        memset(blocks[i], 0x5a, sizes[i]);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        if (keep && i % KEPT_OF == 0)
            kept += sizes[i];
        else
            free(blocks[i]);
    return kept;
}

static void *pool_thread(void *unused) {
    for (int i = 1; i <= BURSTS; i++)
        live_bytes += burst(i == BURSTS); // the threads take turns
    sem_post(&done);
    for (;;)
        pause();
    return unused;
}

int main(void) {
    require_rung();
    random_state = seed_from_environment((uint64_t)time(NULL));
    memset(blocks, 1, sizeof blocks);
    sem_init(&done, 0, 0);
    free(malloc(1));
    long before = status_kib("VmRSS");
    for (int i = 0; i < THREADS; i++) {
        pthread_t t;
        REQUIRE(pthread_create(&t, NULL, pool_thread, NULL) == 0, "no thread");
        while (sem_wait(&done) != 0) {
        }
    }
    usleep(300 * 1000);
    long left = status_kib("VmRSS") - before;
    say("%d threads that sleep, %zu KiB live: %ld KiB more than at the start", THREADS, live_bytes >> 10, left);
    CHECK(left > (long)(live_bytes >> 10), "%ld KiB resident, %zu KiB live", left, live_bytes >> 10);
    CHECK(left < ALLOWED_KIB, "%ld KiB are resident, %zu KiB of them live", left, live_bytes >> 10);
    check_heap("at the end");
    return check_result();
}
