/* What the model knows of each block. */
#ifndef RUNG_TESTS_RECORD_H
#define RUNG_TESTS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block {
    unsigned char *p; /* NULL: none */
    size_t size;      /* as it was asked for */
    size_t usable;
    size_t align;     /* what p must be a multiple of */
    uint32_t pattern; /* its contents */
};

/* Ends the process with a message that says how to run the same again. */
_Noreturn void wrong(const char *what, const struct block *b, size_t at) __attribute__((noinline));

/* Writes the pattern: all of a block up to 16 KiB, samples of larger ones, the ends always. */
void block_fill(struct block *b);

/* The first n bytes still have it. */
void block_verify(const struct block *b, size_t n);

/* No two of the blocks overlap.  Sorts them. */
void blocks_apart(struct block *blocks, size_t n);

/* xorshift64*: fast, and the same everywhere. */
static inline uint64_t random_next(uint64_t *state) {
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545f4914f6cdd1d;
}

static inline size_t random_below(uint64_t *state, size_t n) {
    return (size_t)((random_next(state) >> 33) % n);
}

#endif
