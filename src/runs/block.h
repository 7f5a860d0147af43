/* Large blocks: more than the largest object of a run, up to half a window, in whole pages of the
   same windows.  They have no header either: how many pages a block has is kept with the window. */
#ifndef RUNG_RUNS_BLOCK_H
#define RUNG_RUNS_BLOCK_H

#include "runs/window.h"

#define BLOCK_MAX (WINDOW / 2)

/* req and align as for space_take(), but in bytes that need be no pages.  *zero: the block is known to
   hold zeros.  NULL: no memory, too large, or the lock is not to be had. */
void *block_take(size_t req, size_t align, bool *zero);

/* False: no block starts at mem, which lies in a window of runs but in no run. */
bool block_give(void *mem);

/* ---- blocks that a thread's cache keeps: marked, so that a second free is seen ---- */

/* False: no block starts at mem, or it is marked already. */
bool block_mark(void *mem);

/* The user's again. */
void block_unmark(void *mem);

/* A marked block's pages go back. */
void block_give_marked(void *mem);

/* The bytes of the marked block that starts at mem; 0: none does. */
size_t block_marked_size(const void *mem);

/* How many marked blocks there are; SIZE_MAX: the lock is not to be had. */
size_t blocks_count_marked(void);

/* ---- */

/* In place, longer or shorter.  False: it stays as it is. */
bool block_resize(void *mem, size_t req);

/* Of mem in a window of runs but in no run: the bytes of the block that starts there; 0: none does, or it is
   marked. */
size_t block_size(const void *mem);

/* Of any mem in a window of runs: the bytes of the object or block that starts there; 0: none does. */
size_t headless_size(const void *mem);

/* Whether it lies on a free page, or is marked: for the choice of a message. */
bool headless_is_free(const void *mem);

#endif
