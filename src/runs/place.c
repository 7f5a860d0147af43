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

static size_t find_quickly(const struct places *p, const uint64_t *map, size_t end, size_t n) {
    size_t c = class_within(n);
    size_t at = p->from[c];
    if (at >= end || end - at < n)
        return end;
    size_t stop = bits_next_clear(map, at, at + n);
    return stop == at + n ? at : bits_find(map, size_max(stop, p->next[c]), end, n, 1);
}

size_t place_find(struct places *p, const uint64_t *map, size_t end, size_t n, size_t align, bool slot) {
    if (slot) {
        size_t found = bits_find(map, p->from[PLACE_SLOT], end, n, align);
        p->from[PLACE_SLOT] = (uint16_t)found;
        return found;
    }
    if (align > 1)
        return bits_find(map, p->from[class_within(n)], end, n, align);
    size_t found = find_quickly(p, map, end, n);
    for (size_t c = class_beyond(n); c < PLACE_LENGTHS; c++) {
        p->from[c] = (uint16_t)size_max(p->from[c], found);
        p->next[c] = (uint16_t)size_max(p->next[c], found);
    }
    return found;
}

void place_taken(struct places *p, const uint64_t *map, size_t end, size_t page, size_t n) {
    size_t after = page + n;
    bool split = page > 0 && after < end && bit_get(map, page - 1) && bit_get(map, after);
    for (size_t c = 0; c < PLACE_LENGTHS; c++) {
        if (p->from[c] >= page && p->from[c] < after)
            p->from[c] = (uint16_t)after;
        else if (split)
            p->next[c] = (uint16_t)size_min(p->next[c], after);
    }
}

void place_freed(struct places *p, const uint64_t *map, size_t end, size_t page, size_t n, size_t slot) {
    size_t start = bits_last(map, page, ~(uint64_t)0);
    size_t length = bits_next_clear(map, page + n, end) - start;
    for (size_t c = 0, last = class_within(length); c <= last; c++) {
        size_t from = p->from[c];
        if (start < from) {
            p->next[c] = (uint16_t)from;
            p->from[c] = (uint16_t)start;
        } else if (start > from) {
            p->next[c] = (uint16_t)size_min(p->next[c], start);
        }
    }
    if (length >= slot)
        p->from[PLACE_SLOT] = (uint16_t)size_min(p->from[PLACE_SLOT], start);
}

bool place_is_sound(const struct places *p, const uint64_t *map, size_t end, size_t slot) {
    for (size_t start = 0, stop; (start = bits_next_set(map, start, end)) < end; start = stop) {
        stop = bits_next_clear(map, start, end);
        for (size_t c = 0, last = class_within(stop - start); c <= last; c++)
            if (start < p->from[c] || (start > p->from[c] && start < p->next[c]))
                return false;
    }
    return bits_find(map, 0, end, slot, slot) >= p->from[PLACE_SLOT];
}
