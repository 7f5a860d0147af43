/* What all four toys offer: C's allocation functions under names of their own, so that a program
 * can use a toy and still have its libc's malloc beside it. preload.c gives them their usual
 * names.
 *
 * None of the toys locks anything: whoever calls from several threads takes a lock around each
 * call, as preload.c does. */
#ifndef TOY_H
#define TOY_H

#include <stddef.h>

/* At least `size` bytes at a multiple of 16, or NULL with errno ENOMEM. */
void *toy_malloc(size_t size);

/* Takes back a block that one of the other three returned; NULL is allowed and means nothing. */
void toy_free(void *mem);

/* As toy_malloc(count * size), filled with zeros; NULL when the product overflows. */
void *toy_calloc(size_t count, size_t size);

/* A block of `size` bytes that begins with what `mem` held; `mem` is gone, unless NULL is returned
 * for want of memory. A NULL `mem` makes it toy_malloc, a `size` of 0 makes it toy_free. */
void *toy_realloc(void *mem, size_t size);

/* Calls `visit` for each free chunk, lowest address first. Bump has no free chunks and no such
 * function. */
void toy_each_free(void (*visit)(const void *chunk, size_t size));

#endif
