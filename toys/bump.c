/* Toy 1, bump: the least that can be called malloc.
 *
 * A process owns one stretch of memory that it can lengthen: the heap. Its upper end is the
 * "program break", and sbrk(n) asks the kernel to move the break up by n bytes and returns where
 * it was before. So a block is had by moving the break past it:
 *
 *          start                      break
 *            |  a  | b |     c      |   |          sbrk(n): the break goes n bytes to the right,
 *            +-----+---+------------+---+.....     the bytes it passed over are the block
 *
 * Nothing else is written down anywhere. That is why free can do nothing: it is told an address
 * and cannot know how many bytes lie behind it, nor is there a place to note that they are free. */
#define _DEFAULT_SOURCE
#include "toy.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* C promises that a block suits an object of any type. On 64-bit machines the strictest of them
 * wants multiples of 16. */
#define ALIGN ((size_t)16)

void *toy_malloc(size_t size) {
    if (size > PTRDIFF_MAX - 2 * ALIGN) {
        errno = ENOMEM;
        return NULL;
    }
    if (size == 0)
        size = 1; /* two calls must not return the same address */
    size_t length = (size + ALIGN - 1) / ALIGN * ALIGN;

    /* Every block is a multiple of ALIGN, so this is nonzero only when the break did not start on
     * one. */
    size_t gap = -(uintptr_t)sbrk(0) % ALIGN;
    char *old_break = sbrk((intptr_t)(gap + length));
    if (old_break == (char *)-1)
        return NULL; /* sbrk has set errno */
    return old_break + gap;
}

void toy_free(void *mem) {
    (void)mem;
}

void *toy_calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    /* No memset: the kernel hands out zeroed pages, and no byte of the heap is ever handed out a
     * second time. */
    return toy_malloc(bytes);
}

void *toy_realloc(void *mem, size_t size) {
    if (mem != NULL && size == 0)
        return NULL;
    void *moved = toy_malloc(size);
    /* How long the old block was is unknown. Copying the new length is safe all the same: the new
     * block lies above the old one, so whatever follows the old one is readable; the surplus is
     * garbage in bytes that may hold garbage. When the old block was the last one, the two ranges
     * overlap, hence memmove. */
    if (mem != NULL && moved != NULL)
        memmove(moved, mem, size);
    return moved;
}
