// What the benchmark programs share: a generator with a state of the caller's, so that the work is the same in
// every run, and blocks whose first bytes say how they were made, so that the checksum proves that no block was
// lost or overwritten. Every program prints one checksum, whatever allocator is under it.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "finish.h"

static inline uint64_t rnd(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline size_t between(uint64_t *state, size_t low, size_t high) {
    return low + (size_t)(rnd(state) % (high - low + 1));
}

// As many sizes below 2^n as between 2^n and 2^(n+1): most blocks are small, most bytes are in large ones.
static inline size_t log_between(uint64_t *state, unsigned low_bits, unsigned high_bits) {
    size_t base = (size_t)1 << between(state, low_bits, high_bits - 1);
    return base + (size_t)(rnd(state) % base);
}

static inline void *need(void *mem) {
    if (!mem) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return mem;
}

struct block {
    size_t size;
    uint64_t tag;
};

// A block of at least sizeof(struct block), written to as its owner would: all of a small one, every page of a
// large one.
static inline struct block *block_new(size_t size, uint64_t tag) {
    struct block *block = need(malloc(size));
    if (size <= 4096) {
        memset(block, (int)(tag & 0xff), size);
    } else {
        for (size_t at = 0; at < size; at += 4096) {
            ((char *)block)[at] = (char)tag;
        }
    }
    block->size = size;
    block->tag = tag;
    return block;
}

static inline uint64_t block_free(struct block *block) {
    uint64_t sum = block->tag ^ block->size;
    free(block);
    return sum;
}

// The last argument scales the amount of work, 1 being a second or so.
static inline size_t scaled(size_t work, int argc, char **argv, int index) {
    double factor = argc > index ? atof(argv[index]) : 1.0;
    if (factor <= 0) {
        fprintf(stderr, "the scale must be a number above 0, not '%s'\n", argv[index]);
        exit(2);
    }
    size_t amount = (size_t)((double)work * factor);
    return amount ? amount : 1;
}
