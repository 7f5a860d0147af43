#include "record.h"

#include <stdlib.h>

enum { WHOLE = 16384, END = 128, STRIDE = 997 };

static unsigned char expected(const struct block *b, size_t i) {
    uint64_t x = (b->pattern + i / 8) * 0x9e3779b97f4a7c15;
    return (unsigned char)(x >> (8 + i % 8 * 5));
}

/* The next offset that is looked at. */
static size_t following(size_t i, size_t size) {
    if (size <= WHOLE || i < END || i >= size - END)
        return i + 1;
    return i + STRIDE < size - END ? i + STRIDE : size - END;
}

void block_fill(struct block *b) {
    for (size_t i = 0; i < b->usable; i = following(i, b->usable))
        b->p[i] = expected(b, i);
}

void block_verify(const struct block *b, size_t n) {
    for (size_t i = 0; i < n; i = following(i, b->usable))
        if (b->p[i] != expected(b, i))
            wrong("the contents of a block changed", b, i);
}

static int by_address(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)((const struct block *)a)->p, y = (uintptr_t)((const struct block *)b)->p;
    return (x > y) - (x < y);
}

void blocks_apart(struct block *blocks, size_t n) {
    qsort(blocks, n, sizeof blocks[0], by_address);
    for (size_t i = 1; i < n; i++)
        if (blocks[i - 1].p + blocks[i - 1].usable > blocks[i].p)
            wrong("two blocks overlap", &blocks[i], 0);
}
