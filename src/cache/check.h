/* For rung_heap_check() and tests: what must be true of the calling thread's cache in front of runs. */
#ifndef RUNG_CACHE_CHECK_H
#define RUNG_CACHE_CHECK_H

/* NULL when it is sound, otherwise what is wrong; *where: the object or block at fault. */
const char *deep_check(const void **where);

#endif
