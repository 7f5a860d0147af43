/* Toy 2, freelist: memory that was freed is used again.
 *
 * Bump could not free because it knew neither how long a block was nor where to note that it is
 * free. Both get a place in a header in front of every block. Header and block together are a
 * chunk:
 *
 *          c                  mem = what the caller gets
 *          |                  |
 *          +--------+---------+------------------------+
 *          |  size  |  next   |  the caller's bytes    |   size: of header and block together
 *          +--------+---------+------------------------+
 *          <---- 16 bytes --->
 *
 * `size` always holds. `next` means something only while the chunk is free: the free chunks form a
 * list, lowest address first. The heap is nothing but chunks without a gap, so chunks that touch
 * can be cut in two and joined again:
 *
 *   malloc   takes the first free chunk that is long enough, and gives what it does not need back
 *            to the list.
 *   free     puts the chunk in its place in the list, and joins it with the free chunks that touch
 *            it.
 *
 * The break is moved only when no free chunk is long enough, and then by 64 KiB at least: one
 * system call for many blocks. It never goes down. */
#define _DEFAULT_SOURCE
#include "toy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define ALIGN ((size_t)16)
#define GROWTH ((size_t)64 * 1024)

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
