/* From what the caller asks for to what is carved out. */
#ifndef RUNG_CHUNK_SIZE_H
#define RUNG_CHUNK_SIZE_H

#include <stdint.h>

#include "base/bits.h"

#define WORD sizeof(size_t)

/* Every pointer handed out, and every chunk size, is a multiple of this: the alignment of
   max_align_t in the x86-64 and aarch64 calling conventions. */
#define ALIGNMENT ((size_t)16)

/* A free chunk must hold its size twice and two links. */
#define MIN_CHUNK ((size_t)32)

/* What stands in front of a user's pointer, and how much of a chunk the user cannot have: the size
   word.  The word behind the chunk's last payload byte is its successor's first, and lent to it. */
#define HEADER ((size_t)16)
#define OVERHEAD WORD

/* The largest request that is looked at at all (ISO C: an object's size fits ptrdiff_t). */
#define REQUEST_MAX ((size_t)PTRDIFF_MAX)

/* req <= REQUEST_MAX.  Requests 1, 24, 25, 1000 take 32, 32, 48, 1008 bytes (row A1). */
static HOT size_t chunk_size_of_request(size_t req) {
    return req <= MIN_CHUNK - OVERHEAD ? MIN_CHUNK : align_up(req + OVERHEAD, ALIGNMENT);
}

/* What a caller may use of a chunk of this size. */
static HOT size_t usable_of_chunk_size(size_t csz) {
    return csz - OVERHEAD;
}

#endif
