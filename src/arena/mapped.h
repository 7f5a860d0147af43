/* Chunks that are a mapping of their own.
 *
 *   page boundary
 *   |<- offset ->|
 *   +------------+----------------+------------------+------------------------+----------+
 *   | unused     | offset |H|      | size       |0|M|0| payload                | 16 bytes |
 *   +------------+----------------+------------------+------------------------+----------+
 *   ^ mapping    ^ c                                  ^ mem                              ^ page
 *
 * offset  0 unless an alignment larger than a page boundary's was asked for; a multiple of 16
 * H       1 in the word's lowest bit: the mapping has explicit huge pages, whole ones
 *
 * The 16 bytes at the end make the usable size of a mapped chunk the same function of its size word
 * as everybody else's (row D2: a request of 200000 takes 49 pages and a chunk of 200688).
 *
 * No lock: a mapped chunk belongs to its user alone.  The counters are atomic. */
#ifndef RUNG_ARENA_MAPPED_H
#define RUNG_ARENA_MAPPED_H

#include "chunk/chunk.h"

#define MAPPED_TAIL HEADER

/* A mapped chunk of at least csz bytes whose payload is aligned to `align` (ALIGNMENT or more), from
   the kernel or from what waits for reuse (arena/mapped_cache.h).  NULL when the kernel refuses, with
   nothing waiting any more.  Does not look at mmap_max: it is the last resort too. */
struct chunk *mapped_alloc(size_t csz, size_t align);

/* The same for a caller who knows what to do with zeros: from *zero_from on the payload is known to
   hold them.  `want_zero`: the caller is about to clear the rest, so that fresh pages are better than
   many dirty ones. */
struct chunk *mapped_alloc_zero(size_t csz, size_t align, bool want_zero, char **zero_from);

/* The same mapping with the payload's start moved up to a multiple of `align`.  c is fresh and has
   align bytes to spare. */
struct chunk *mapped_align(struct chunk *c, size_t align);

/* Whether the policy of row D2 lets a request of this size have a mapping: at or above the
   threshold, and fewer mapped chunks than mmap_max. */
bool mapped_wanted(size_t csz);

/* Whether c, whose M flag is set, can be a mapped chunk at all. */
bool mapped_plausible(const struct chunk *c);

/* c goes back: to the kernel, or to wait for reuse. */
void mapped_free(struct chunk *c);

/* c with room for csz bytes, moved if need be; NULL: the kernel refused, c is as it was. */
struct chunk *mapped_resize(struct chunk *c, size_t csz);

/* The bytes of c's whole mapping. */
size_t mapped_total(const struct chunk *c);

#endif
