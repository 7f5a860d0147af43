#include "runs/place.h"

/* The longest length that n pages are enough for. */
static size_t class_within(size_t n) {
    if (n <= PLACE_EXACT)
        return n - 1;
    return size_min(PLACE_EXACT - 1 + (log2_floor(n) - log2_floor(PLACE_EXACT)), PLACE_LENGTHS - 1);
}

/* The shortest length that is not less than n; PLACE_LENGTHS: none is known. */
static size_t class_beyond(size_t n) {
    if (n <= PLACE_EXACT)
        return n - 1;
    return PLACE_EXACT - 1 + (log2_floor(n - 1) + 1 - log2_floor(PLACE_EXACT));
}

size_t place_find(struct places *p, const uint64_t *map, size_t end, size_t n, size_t align, bool slot) {
    size_t from = p->from[slot ? (size_t)PLACE_SLOT : class_within(n)];
    size_t found = bits_find(map, from, end, n, align);
    if (slot)
        p->from[PLACE_SLOT] = (uint16_t)found;
    else if (align == 1)
        for (size_t c = class_beyond(n); c < PLACE_LENGTHS; c++)
            p->from[c] = (uint16_t)size_max(p->from[c], found);
    return found;
}

void place_freed(struct places *p, const uint64_t *map, size_t end, size_t page, size_t n, size_t slot) {
    size_t start = bits_last(map, page, ~(uint64_t)0);
    size_t length = bits_next_clear(map, page + n, end) - start;
    for (size_t c = 0, last = class_within(length); c <= last; c++)
        p->from[c] = (uint16_t)size_min(p->from[c], start);
    if (length >= slot)
        p->from[PLACE_SLOT] = (uint16_t)size_min(p->from[PLACE_SLOT], start);
}
