#include "ranges.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 17 };

/* Sorted by address, without overlaps; neighbours of one kind are joined. */
static struct range table[MOST];
static size_t count;

/* The first range that ends behind p. */
static size_t first_behind(uintptr_t p) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (table[mid].to > p)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

static void insert(size_t at, struct range r) {
    if (count == MOST)
        abort();
    memmove(&table[at + 1], &table[at], (count - at) * sizeof table[0]);
    table[at] = r;
    count++;
}

static void drop(size_t at) {
    count--;
    memmove(&table[at], &table[at + 1], (count - at) * sizeof table[0]);
}

/* Makes p a border between two ranges, if it lies within one. */
static void split_at(uintptr_t p) {
    size_t i = first_behind(p);
    if (i == count || table[i].from >= p)
        return;
    struct range right = table[i];
    right.from = p;
    table[i].to = p;
    insert(i + 1, right);
}

static void join_at(size_t i) {
    if (i == 0 || i >= count)
        return;
    struct range *a = &table[i - 1], *b = &table[i];
    if (a->to == b->from && a->state == b->state && a->refused == b->refused) {
        a->to = b->to;
        drop(i);
    }
}

void ranges_set(uintptr_t from, uintptr_t to, enum range_state state) {
    if (from == to)
        return;
    split_at(from);
    split_at(to);
    size_t i = first_behind(from);
    while (i < count && table[i].from < to)
        drop(i);
    if (state == RANGE_NONE)
        return;
    insert(i, (struct range){from, to, state, false});
    join_at(i + 1);
    join_at(i);
}

void ranges_refuse(uintptr_t from, uintptr_t to) {
    split_at(from);
    split_at(to);
    for (size_t i = first_behind(from); i < count && table[i].from < to; i++)
        table[i].refused = true;
}

static bool all(uintptr_t from, uintptr_t to, bool any_state, enum range_state state) {
    for (size_t i = first_behind(from); from < to; i++) {
        if (i == count || table[i].from > from || (!any_state && table[i].state != state))
            return false;
        from = table[i].to;
    }
    return true;
}

bool ranges_all(uintptr_t from, uintptr_t to, enum range_state state) {
    return all(from, to, false, state);
}

bool ranges_known(uintptr_t from, uintptr_t to) {
    return all(from, to, true, RANGE_NONE);
}

bool ranges_free(uintptr_t from, uintptr_t to) {
    size_t i = first_behind(from);
    return i == count || table[i].from >= to;
}

size_t ranges_bytes(enum range_state state) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        if (table[i].state == state)
            bytes += table[i].to - table[i].from;
    return bytes;
}

size_t ranges_refused_bytes(void) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        if (table[i].refused)
            bytes += table[i].to - table[i].from;
    return bytes;
}

size_t ranges_count(void) {
    return count;
}
