/* Mappings go back to the kernel, also when it does not want them: at the map-count limit munmap can
   fail, since taking a piece out of a mapping makes two of it. */
#ifndef RUNG_ARENA_UNMAP_H
#define RUNG_ARENA_UNMAP_H

#include <stdbool.h>
#include <stddef.h>

/* Whole pages that nobody knows of any more.  If the kernel refuses, the pages are returned, and the
   address range is kept and unmapped when that works again: nothing is lost.  No lock. */
void unmap_for_good(char *mapping, size_t len);

/* Tries again what was refused, as far as it works: one refusal a call, however many there are. */
void unmap_refused(void);

#endif
