/* Maps of bits in words of 64: which pages of a window are free, which objects of a run.  `end` is
 * one past the last bit looked at; what looks for a bit and finds none returns `end`. */
#ifndef RUNG_BASE_BITMAP_H
#define RUNG_BASE_BITMAP_H

#include "base/bits.h"

enum { WORD_BITS = 64 };

static HOT bool bit_get(const uint64_t *map, size_t i) {
    return (map[i / WORD_BITS] >> i % WORD_BITS & 1) != 0;
}

/* The bits [from, to) of one word, to <= 64, from < to. */
static HOT uint64_t word_mask(size_t from, size_t to) {
    return (~(uint64_t)0 >> (WORD_BITS - (to - from))) << from;
}

/* Calls `step` with each word that [from, from + n) touches and the mask of its bits. */
#define BITS_EACH_WORD(from, n, step)                                                              \
    for (size_t at_ = (from), end_ = (from) + (n); at_ < end_;) {                                  \
        size_t word_ = at_ / WORD_BITS;                                                            \
        size_t stop_ = size_min((word_ + 1) * WORD_BITS, end_);                                    \
        uint64_t mask_ = word_mask(at_ - word_ * WORD_BITS, stop_ - word_ * WORD_BITS);            \
        step(word_, mask_);                                                                        \
        at_ = stop_;                                                                               \
    }

static inline void bits_set(uint64_t *map, size_t from, size_t n) {
#define SET(word, mask) map[word] |= (mask)
    BITS_EACH_WORD(from, n, SET)
#undef SET
}

static inline void bits_clear(uint64_t *map, size_t from, size_t n) {
#define CLEAR(word, mask) map[word] &= ~(mask)
    BITS_EACH_WORD(from, n, CLEAR)
#undef CLEAR
}

static inline size_t bits_count(const uint64_t *map, size_t from, size_t n) {
    size_t count = 0;
#define COUNT(word, mask) count += (size_t)__builtin_popcountll(map[word] & (mask))
    BITS_EACH_WORD(from, n, COUNT)
#undef COUNT
    return count;
}

static inline bool bits_all(const uint64_t *map, size_t from, size_t n) {
#define TEST(word, mask)                                                                           \
    if ((~map[word] & (mask)) != 0)                                                                \
    return false
    BITS_EACH_WORD(from, n, TEST)
#undef TEST
    return true;
}

/* The first bit at or after `from` that is set, or with `flip` all ones that is not. */
static inline size_t bits_next(const uint64_t *map, size_t from, size_t end, uint64_t flip) {
    if (from >= end)
        return end;
    size_t word = from / WORD_BITS;
    uint64_t bits = (map[word] ^ flip) & ~(uint64_t)0 << from % WORD_BITS;
    while (bits == 0) {
        if (++word * WORD_BITS >= end)
            return end;
        bits = map[word] ^ flip;
    }
    return size_min(word * WORD_BITS + (size_t)__builtin_ctzll(bits), end);
}

static inline size_t bits_next_set(const uint64_t *map, size_t from, size_t end) {
    return bits_next(map, from, end, 0);
}

static inline size_t bits_next_clear(const uint64_t *map, size_t from, size_t end) {
    return bits_next(map, from, end, ~(uint64_t)0);
}

/* One past the last bit of [0, end) that is set (or with `flip` is not); 0: none. */
static inline size_t bits_last(const uint64_t *map, size_t end, uint64_t flip) {
    if (end == 0)
        return 0;
    size_t word = (end - 1) / WORD_BITS;
    uint64_t bits = (map[word] ^ flip) & word_mask(0, end - word * WORD_BITS);
    while (bits == 0) {
        if (word-- == 0)
            return 0;
        bits = map[word] ^ flip;
    }
    return word * WORD_BITS + WORD_BITS - (size_t)__builtin_clzll(bits);
}

/* The first n set bits in a row that begin at a multiple of align (a power of two). */
static inline size_t bits_find(const uint64_t *map, size_t from, size_t end, size_t n, size_t align) {
    for (size_t at = from;;) {
        at = align_up(bits_next_set(map, at, end), align);
        if (at >= end || end - at < n)
            return end;
        size_t stop = bits_next_clear(map, at, at + n);
        if (stop == at + n)
            return at;
        at = stop;
    }
}

#endif
