/* The sizes that runs come in: multiples of 16 up to 1 KiB, then eight a doubling up to 32 KiB, so
   that no request is rounded up by more than a ninth.
 *
 *   bin      0   1  ..  63 |   64   65 ..   71 |   72 ..   103
 *   bytes   16  32 .. 1024 | 1152 1280 .. 2048 | 2304 .. 32768     */
#ifndef RUNG_RUNS_SIZE_CLASS_H
#define RUNG_RUNS_SIZE_CLASS_H

#include "base/bits.h"

enum {
    RUN_SMALL_BINS = 64,
    RUN_BINS = 104,
};

#define RUN_SMALL_MAX ((size_t)1024)
#define RUN_MAX (32 * KIB)

/* req <= RUN_MAX. */
static HOT unsigned run_bin_of_request(size_t req) {
    size_t last = req - (req > 0); /* the number of the last byte */
    if (last < RUN_SMALL_MAX)
        return (unsigned)(last / 16);
    unsigned doubling = log2_floor(last); /* 10..14 */
    return RUN_SMALL_BINS + (doubling - 10) * 8 + (unsigned)(last >> (doubling - 3)) % 8;
}

static HOT size_t run_bin_size(unsigned bin) {
    if (bin < RUN_SMALL_BINS)
        return (bin + 1) * (size_t)16;
    unsigned doubling = 10 + (bin - RUN_SMALL_BINS) / 8;
    return ((size_t)9 + (bin - RUN_SMALL_BINS) % 8) << (doubling - 3);
}

/* 2^32 / size, rounded up: with an offset below 2^16 the product's upper half is the exact quotient,
   since what the rounding adds is less than 2^-16, and a remainder at least 1 / size short of one. */
extern const uint32_t run_reciprocals[RUN_BINS] HIDDEN;

/* Which object of a run an offset into it lies in. */
static HOT size_t run_object_index(unsigned bin, size_t offset) {
    return (size_t)((uint64_t)offset * run_reciprocals[bin] >> 32);
}

/* Blocks of whole pages that a thread's cache may keep come in eight sizes a doubling, 36 KiB to 256 KiB:

     bin        0  1 ..  7 |  8  9 .. 15 |  16  17 ..  23
     KiB       36 40 .. 64 | 72 80 .. 128| 144 160 .. 256     */
enum { BLOCK_BINS = 24 };
#define BLOCK_BIN_MAX (256 * KIB)

/* RUN_MAX < req <= BLOCK_BIN_MAX. */
static HOT unsigned block_bin_of_request(size_t req) {
    size_t last = req - 1;
    unsigned doubling = log2_floor(last); /* 15..17 */
    return (doubling - 15) * 8 + (unsigned)(last >> (doubling - 3)) % 8;
}

static HOT size_t block_bin_size(unsigned bin) {
    return ((size_t)9 + bin % 8) << (12 + bin / 8);
}

#endif
