/* Memory for the library's own structures: thread caches, arenas.
 *
 * They lie on pages of their own, never between users' blocks: an overrun of a user's block cannot
 * reach them, they cannot pin a heap, and no path of the allocator waits for the allocator.  The
 * documents' system carves them out of its heaps; that Rung does not, in every profile, is its one
 * structural liberty (docs/architecture.md).
 *
 * The first pages are part of the library's own data, so that a small process makes no system call
 * for them. */
#ifndef RUNG_CHUNK_META_H
#define RUNG_CHUNK_META_H

#include <stddef.h>

#include "guard/lock.h"

/* Zeroed, aligned to a cache line.  NULL when there is no memory or when the lock is not to be had
   (guard/lock.h): the caller does without.  Takes the lock of rank META. */
void *meta_alloc(size_t size);

/* The same, not zeroed. */
void *meta_alloc_dirty(size_t size);

/* `size` as it was asked for, at most 8 KiB.  When the lock is not to be had the block is lost. */
void meta_free(void *p, size_t size);

extern struct lock meta_lock;

/* Where all of it lies.  A list that only grows. */
struct meta_block {
    char *start;
    size_t bytes;
    struct meta_block *older;
};
extern struct meta_block *_Atomic meta_blocks;

#endif
