#include "arena/bin.h"

#include "guard/assert.h"

void bins_init(struct bins *b) {
    for (unsigned i = 0; i < BIN_COUNT; i++)
        list_init(&b->head[i]);
    b->map[0] = b->map[1] = 0;
}

unsigned bin_of_size(size_t csz) {
    if (is_small(csz))
        return (unsigned)(csz / ALIGNMENT);
    if (csz >> 6 <= 48)
        return (unsigned)(48 + (csz >> 6));
    if (csz >> 9 <= 20)
        return (unsigned)(91 + (csz >> 9));
    if (csz >> 12 <= 10)
        return (unsigned)(110 + (csz >> 12));
    if (csz >> 15 <= 4)
        return (unsigned)(119 + (csz >> 15));
    if (csz >> 18 <= 2)
        return (unsigned)(124 + (csz >> 18));
    return BIN_COUNT - 1;
}

static void mark(struct bins *b, unsigned index) {
    b->map[index / 64] |= (uint64_t)1 << index % 64;
}

static void add_front(struct link *head, struct chunk *c, enum message corrupt) {
    if (UNLIKELY(head->next->prev != head))
        die(corrupt, mem_of_chunk(c), chunk_head(c));
    list_insert_after(head, &c->link);
}

void bins_add_unsorted(struct bins *b, struct chunk *c, enum message corrupt) {
    add_front(unsorted(b), c, corrupt);
    if (!is_small(chunk_size(c)))
        c->sizes.next = c->sizes.prev = NULL;
}

void bins_add_small(struct bins *b, struct chunk *c, size_t csz) {
    unsigned index = bin_of_size(csz);
    add_front(bin_head(b, index), c, MSG_FREE_SMALLBIN);
    mark(b, index);
}

/* Into the ring of sizes in front of `larger_or_first`, the first chunk of another size. */
static void ring_insert_before(struct chunk *at, struct chunk *c) {
    struct link *next = &at->sizes;
    if (UNLIKELY(next->prev->next != next))
        die(MSG_LARGEBIN_SIZES, mem_of_chunk(at), chunk_head(at));
    list_insert_after(next->prev, &c->sizes);
}

void bins_add_large(struct bins *b, struct chunk *c, size_t csz) {
    unsigned index = bin_of_size(csz);
    struct link *head = bin_head(b, index);
    mark(b, index);
    if (list_empty(head)) {
        list_init(&c->sizes);
        list_insert_after(head, &c->link);
        return;
    }
    struct chunk *largest = chunk_of_link(head->next);
    if (csz < chunk_size(chunk_of_link(head->prev))) { /* the new smallest: no search */
        ring_insert_before(largest, c);
        list_insert_after(head->prev, &c->link);
        return;
    }
    struct chunk *at = largest;
    while (csz < chunk_size(at))
        at = chunk_of_sizes(at->sizes.next);
    struct link *next = &at->link;
    if (csz == chunk_size(at)) {
        c->sizes.next = c->sizes.prev = NULL;
        next = next->next; /* second of its size */
    } else {
        ring_insert_before(at, c);
    }
    if (UNLIKELY(next->prev->next != next))
        die(MSG_LARGEBIN_BACK, mem_of_chunk(at), chunk_head(at));
    list_insert_after(next->prev, &c->link);
}

/* c is the first of its size in a large bin; `next` followed it there, and is the bin's head when
   c was the last. */
static void ring_remove(struct bins *b, struct chunk *c, struct link *next) {
    struct link *s = &c->sizes;
    if (UNLIKELY(s->next->prev != s || s->prev->next != s))
        die(MSG_LINKS_SIZES, mem_of_chunk(c), chunk_head(c));
    size_t csz = chunk_size(c);
    struct chunk *heir = chunk_of_link(next);
    if (next == bin_head(b, bin_of_size(csz)) || chunk_size(heir) != csz) {
        list_remove(s);
    } else if (s->next == s) { /* the bin holds one size only */
        list_init(&heir->sizes);
    } else {
        heir->sizes = *s;
        s->next->prev = &heir->sizes;
        s->prev->next = &heir->sizes;
    }
}

void bins_remove(struct bins *b, struct chunk *c) {
    size_t csz = chunk_size(c);
    if (UNLIKELY(foot_of_prev(chunk_at(c, csz)) != csz))
        die(MSG_PREV_SIZE, mem_of_chunk(c), chunk_head(c));
    struct link *l = &c->link;
    if (UNLIKELY(l->next->prev != l || l->prev->next != l))
        die(MSG_LINKS, mem_of_chunk(c), chunk_head(c));
    struct link *next = l->next;
    list_remove(l);
    if (!is_small(csz) && c->sizes.next != NULL)
        ring_remove(b, c, next);
}

struct chunk *bin_best_fit(struct bins *b, unsigned index, size_t csz) {
    struct link *head = bin_head(b, index);
    if (list_empty(head))
        return NULL;
    struct chunk *largest = chunk_of_link(head->next);
    if (chunk_size(largest) < csz)
        return NULL;
    struct chunk *c = chunk_of_sizes(largest->sizes.prev); /* the smallest */
    while (chunk_size(c) < csz)
        c = chunk_of_sizes(c->sizes.prev);
    if (c->link.next != head) {
        struct chunk *second = chunk_of_link(c->link.next);
        if (chunk_size(second) == chunk_size(c))
            return second;
    }
    return c;
}

struct chunk *bins_next_larger(struct bins *b, unsigned index) {
    for (unsigned word = index / 64; word < 2; word++) {
        uint64_t bits = b->map[word];
        if (word == index / 64)
            bits &= ~(uint64_t)0 << index % 64;
        for (; bits != 0; bits &= bits - 1) {
            unsigned i = word * 64 + (unsigned)__builtin_ctzl(bits);
            struct link *head = bin_head(b, i);
            if (!list_empty(head))
                return chunk_of_link(head->prev);
            b->map[word] &= ~((uint64_t)1 << i % 64);
        }
    }
    return NULL;
}
