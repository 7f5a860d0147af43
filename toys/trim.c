/* Toy 3, trim: freed memory goes back to the kernel, from the top of the heap.
 *
 * The freelist toy with one thing more. Once a free chunk's pages were written to, they take up
 * RAM whether anybody needs them or not. Lowering the break hands pages back, but only the last
 * ones:
 *
 *      before   | used |  free  | used |            free            |
 *      after    | used |  free  | used |  kept  |                  ^ the break was here
 *                                               ^ the break is here now
 *
 * free does so when the free chunk at the very end has 128 KiB, and keeps 64 KiB so that the next
 * few blocks find room without moving the break up again. A used chunk above a free one pins it:
 * all below the last used chunk stays. */
#define _DEFAULT_SOURCE
#include "toy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define ALIGN ((size_t)16)
#define GROWTH ((size_t)64 * 1024)
#define TRIM_AT ((size_t)128 * 1024)
#define KEEP ((size_t)64 * 1024)
#define PAGE ((size_t)4096)

/* In front of every block, free or not. */
struct chunk {
    size_t size;        /* of header and block together */
    struct chunk *next; /* in the free list; idle while the block is used */
};

_Static_assert(sizeof(struct chunk) % ALIGN == 0, "a block behind the header must stay aligned");

/* Lowest address first, and no two of them touch: chunks that touch are joined. */
static struct chunk *free_list;

static size_t round_up(size_t n, size_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

static struct chunk *chunk_of(void *mem) {
    return (struct chunk *)mem - 1;
}

static char *end_of(struct chunk *c) {
    return (char *)c + c->size;
}

static void join_with_next(struct chunk *c) {
    struct chunk *next = c->next;
    if (next != NULL && end_of(c) == (char *)next) {
        c->size += next->size;
        c->next = next->next;
    }
}

/* The list has to be walked to learn which free chunks lie below and above this one. */
static void put_in_list(struct chunk *c) {
    struct chunk *below = NULL;
    struct chunk *above = free_list;
    while (above != NULL && above < c) {
        below = above;
        above = above->next;
    }
    c->next = above;
    join_with_next(c);
    if (below == NULL) {
        free_list = c;
    } else {
        below->next = c;
        join_with_next(below);
    }
}

/* First fit: the lowest free chunk of at least `need` bytes, cut to that length. NULL when there
 * is none. */
static struct chunk *take_from_list(size_t need) {
    struct chunk **link = &free_list; /* the pointer that leads to c, so that c can be unhooked */
    while (*link != NULL && (*link)->size < need)
        link = &(*link)->next;
    struct chunk *c = *link;
    if (c == NULL)
        return NULL;
    if (c->size == need) {
        *link = c->next;
    } else {
        struct chunk *rest = (struct chunk *)((char *)c + need);
        rest->size = c->size - need;
        rest->next = c->next;
        *link = rest;
        c->size = need;
    }
    return c;
}

/* Moves the break up and puts the new stretch on the list. False when the kernel refuses. */
static bool grow_heap(size_t need) {
    size_t gap = -(uintptr_t)sbrk(0) % ALIGN;
    size_t length = round_up(need, GROWTH);
    char *old_break = sbrk((intptr_t)(gap + length));
    if (old_break == (char *)-1)
        return false;
    struct chunk *c = (struct chunk *)(old_break + gap);
    c->size = length;
    put_in_list(c);
    return true;
}

/* One more walk: the list is singly linked, so its last chunk is found only by going there. */
static void lower_break(void) {
    struct chunk *last = free_list;
    while (last != NULL && last->next != NULL)
        last = last->next;
    if (last == NULL || last->size < TRIM_AT || end_of(last) != sbrk(0))
        return;
    size_t surplus = (last->size - KEEP) / PAGE * PAGE;
    if (sbrk(-(intptr_t)surplus) != (void *)-1)
        last->size -= surplus;
}

void *toy_malloc(size_t size) {
    if (size > PTRDIFF_MAX - 2 * GROWTH) {
        errno = ENOMEM;
        return NULL;
    }
    size_t need = round_up(sizeof(struct chunk) + size, ALIGN);
    struct chunk *c = take_from_list(need);
    if (c == NULL && grow_heap(need))
        c = take_from_list(need);
    return c == NULL ? NULL : c + 1;
}

void toy_free(void *mem) {
    if (mem == NULL)
        return;
    put_in_list(chunk_of(mem));
    lower_break();
}

void *toy_calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    void *mem = toy_malloc(bytes);
    if (mem != NULL)
        memset(mem, 0, bytes); /* the chunk may have been used before */
    return mem;
}

void *toy_realloc(void *mem, size_t size) {
    if (mem == NULL)
        return toy_malloc(size);
    if (size == 0) {
        toy_free(mem);
        return NULL;
    }
    size_t room = chunk_of(mem)->size - sizeof(struct chunk);
    if (size <= room)
        return mem;
    void *moved = toy_malloc(size);
    if (moved != NULL) {
        memcpy(moved, mem, room);
        toy_free(mem);
    }
    return moved;
}

void toy_each_free(void (*visit)(const void *chunk, size_t size)) {
    for (struct chunk *c = free_list; c != NULL; c = c->next)
        visit(c, c->size);
}
