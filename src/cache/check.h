/* For rung_heap_check() and tests: what must be true of the caches in front of runs. */
#ifndef RUNG_CACHE_CHECK_H
#define RUNG_CACHE_CHECK_H

/* NULL when they are sound, or when there are other threads, which use them meanwhile; otherwise what is wrong; *where: the object or block at fault. */
const char *caches_check(const void **where);

#endif
