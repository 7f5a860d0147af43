// FIELD 8: destructors of thread-specific data that allocate, free and re-arm themselves, so that
// the last of them run after the allocator has taken the thread's own cache apart: no crash, no
// growth.
#include "growth.h"
#include <limits.h>

enum { KEYS = 4 };
static pthread_key_t key[KEYS];
static __thread void *kept_for_last_round;
static __thread int rounds[KEYS];

static void destroy(void *value) {
    // The value is a block whose first word is the index of its key.
    size_t which = *(size_t *)value;
    for (size_t i = 1; i <= 20; i++) {
        void *mem = malloc(i * 50), *zero = calloc(i, 9);
        REQUIRE(mem && zero, "no memory in a destructor");
        mem = realloc(mem, i * 400);
        REQUIRE(mem, "no memory in a destructor");
        memset(mem, 1, i * 400);
        free(mem);
        free(zero);
    }
    free(kept_for_last_round);
    kept_for_last_round = malloc(300);
    free(value);
    if (++rounds[which] < PTHREAD_DESTRUCTOR_ITERATIONS) {
        size_t *again = malloc(100 * (which + 1));
        *again = which;
        pthread_setspecific(key[which], again);
    } else if (which == KEYS - 1) { // the last call of the last round
        free(kept_for_last_round);
        kept_for_last_round = NULL;
    }
}

// glibc calls a key's destructor as long as there is a value, PTHREAD_DESTRUCTOR_ITERATIONS times
// at most; what the last round left would be the program's own leak, so the count above ends in
// time.
static void *life(void *unused) {
    for (size_t i = 0; i < KEYS; i++) {
        size_t *value = malloc(64 + i);
        *value = i;
        pthread_setspecific(key[i], value);
    }
    return unused;
}

// A thread whose first call ever into the allocator comes from its last destructor round.
static pthread_key_t late_key;

static void destroy_late(void *value) {
    if (value != (void *)PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(late_key, (char *)value + 1);
        return;
    }
    for (size_t i = 0; i < 30; i++)
        free(malloc(i * 100));
}

static void *late_life(void *unused) {
    pthread_setspecific(late_key, (void *)1);
    return unused;
}

int main(void) {
    require_rung();
    // Some keys before the allocator has seen a call, some after.
    for (int i = 0; i < KEYS / 2; i++)
        REQUIRE(pthread_key_create(&key[i], destroy) == 0, "no key");
    free(malloc(100));
    for (int i = KEYS / 2; i < KEYS; i++)
        REQUIRE(pthread_key_create(&key[i], destroy) == 0, "no key");
    REQUIRE(pthread_key_create(&late_key, destroy_late) == 0, "no key");

    static void *(*const lives[])(void *) = {life, late_life};
    for (int i = 0; i < 2; i++) {
        run_threads(lives[i], 200, 1);
        struct memory before = memory_now();
        run_threads(lives[i], 2000, 1);
        expect_no_growth(&before, 2000, 1);
        run_threads(lives[i], 200, 4);
        before = memory_now();
        run_threads(lives[i], 2000, 4);
        expect_no_growth(&before, 2000, 4);
    }
    check_heap("at the end");
    return check_result();
}
