/* Bins: the lists in which an arena keeps its free chunks (row A3).
 *
 *   index   chunk sizes                     order
 *   1       any: the unsorted list          newest first; looked at once, oldest first, then sorted
 *   2..63   32, 48 .. 1008: exact           newest first, oldest taken: every chunk rests as long
 *   64..126 a range each, 1024 and up       largest first; of equal sizes the second is taken
 *
 * The chunks of a large bin that are the first of their size also form a ring of sizes, largest
 * first, so that a search touches one chunk a size:
 *
 *   head <-> 4096 <-> 4096 <-> 4032 <-> 3984 <-> 3984 <-> head        link
 *            4096 <----------> 4032 <--> 3984 <------------- 4096     sizes
 *
 * The map has a bit for every bin that may hold something; a bit may be set for an empty bin, and
 * is cleared when a search finds that out. */
#ifndef RUNG_ARENA_BIN_H
#define RUNG_ARENA_BIN_H

#include "chunk/chunk.h"
#include "guard/fatal.h"

enum {
    BIN_UNSORTED = 1,
    BIN_FIRST_SMALL = 2,
    BIN_FIRST_LARGE = 64,
    BIN_COUNT = 127,
};

#define MIN_LARGE ((size_t)1024)

struct bins {
    struct link head[BIN_COUNT];
    uint64_t map[2];
};

void bins_init(struct bins *b);

static HOT bool is_small(size_t csz) {
    return csz < MIN_LARGE;
}

/* csz >= MIN_CHUNK.  Large bins are 64, 512, 4096, 32768 and 262144 bytes wide, the last holds the
   rest; the borders are those of the documents' system for 64 bits. */
unsigned bin_of_size(size_t csz);

static HOT struct link *bin_head(struct bins *b, unsigned index) {
    return &b->head[index];
}

static HOT struct link *unsorted(struct bins *b) {
    return &b->head[BIN_UNSORTED];
}

/* Puts a free chunk at the front of the unsorted list; `corrupt` is said when that is damaged. */
void bins_add_unsorted(struct bins *b, struct chunk *c, enum message corrupt);

/* Puts a free chunk of the given size where it belongs. */
void bins_add_small(struct bins *b, struct chunk *c, size_t csz);
void bins_add_large(struct bins *b, struct chunk *c, size_t csz);

/* Takes a free chunk out of whichever list holds it, after checking that its boundary tag and its
   neighbours agree with it. */
void bins_remove(struct bins *b, struct chunk *c);

/* The smallest chunk of the large bin `index` that has at least csz bytes, the second of its size
   if there are several (the ring of sizes stays as it is); NULL when there is none. */
struct chunk *bin_best_fit(struct bins *b, unsigned index, size_t csz);

/* The last chunk of the first non-empty bin from `index` on; NULL when there is none. */
struct chunk *bins_next_larger(struct bins *b, unsigned index);

#endif
