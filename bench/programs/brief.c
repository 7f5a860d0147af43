// brief [SCALE]
//
// Stands for a thread a request: short threads, eight at a time, each of which allocates a few hundred blocks,
// frees nearly all of them and leaves one in thirty-two, which the main thread frees many threads later.
#include "crew.h"

enum { AT_A_TIME = 8, THREADS = 16000, BLOCKS = 512, KEPT = BLOCKS / 32, ROUNDS_KEPT = 300 };

static struct block *kept[ROUNDS_KEPT][AT_A_TIME][KEPT];
static size_t round_number;

static uint64_t body(size_t number) {
    struct block *own[BLOCKS];
    uint64_t state = number + 1, sum = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        own[i] = block_new(log_between(&state, 4, 12), i);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (i % 32 == 0) {
            kept[round_number % ROUNDS_KEPT][number][i / 32] = own[i];
        } else {
            sum += block_free(own[i]);
        }
    }
    return sum;
}

static uint64_t free_kept(size_t round) {
    uint64_t sum = 0;
    for (size_t number = 0; number < AT_A_TIME; number++) {
        for (size_t i = 0; i < KEPT; i++) {
            struct block **one = &kept[round % ROUNDS_KEPT][number][i];
            if (*one) {
                sum += block_free(*one);
                *one = NULL;
            }
        }
    }
    return sum;
}

int main(int argc, char **argv) {
    size_t rounds = scaled(THREADS / AT_A_TIME, argc, argv, 1);
    uint64_t sum = 0;
    for (round_number = 0; round_number < rounds; round_number++) {
        sum += free_kept(round_number);
        sum += crew_run(AT_A_TIME, body);
    }
    for (size_t round = 0; round < ROUNDS_KEPT; round++) {
        sum += free_kept(round);
    }
    return finish(sum);
}
