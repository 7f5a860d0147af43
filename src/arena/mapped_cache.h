/* Freed mappings that wait for reuse: a program that frees a large block and soon wants another one
 * like it pays neither for the system calls nor for the page faults of a fresh mapping.
 *
 * How much may wait is the allowance of options/keep.h: a share of the mapped chunks in use, with the
 * option's value as the floor, and what the program has shown that it wants back.  What exceeds it goes
 * when it comes, the coldest first.  What waits longer than purge_delay goes with the next call that
 * passes here.
 *
 * The record of what waits lies outside of it.  A kept mapping is dirty: whoever takes it must not
 * expect zeros.  No mapping waits where commit is strict (it would count) or the process is privileged
 * (it would be readable); nor does one of explicit huge pages, which are few. */
#ifndef RUNG_ARENA_MAPPED_CACHE_H
#define RUNG_ARENA_MAPPED_CACHE_H

#include "guard/lock.h"

/* A mapping of at least *total bytes, whole pages; *total becomes what it has, at most an eighth more.
   NULL: none that fits, or the lock is not to be had. */
char *mapped_cache_take(size_t *total);

/* Keeps the mapping or gives it back. */
void mapped_cache_put(char *mapping, size_t len);

/* Gives everything back: memory is short, or somebody asks for it.  False: there was nothing. */
bool mapped_cache_empty(void);

/* A moment in which to give back what is too old; bounded.  For any thread, with locks up to an
   arena's held. */
void mapped_cache_age(void);

/* NULL when all is sound, otherwise what is wrong. */
const char *mapped_cache_check(void);

extern struct lock mapped_cache_lock;

#endif
