/* Rung's own interface: what malloc.h has no name for.
 *
 * Programs need none of it to use Rung.  Link with -lrung, or look the functions up with dlsym to
 * use them only where Rung is preloaded. */
#ifndef RUNG_RUNG_H
#define RUNG_RUNG_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a counter or gauge; the names, units and meanings are listed in docs/counters.md and by
   `rung counters`.  0 for an unknown name.  Takes each arena's lock in turn for some of them. */
size_t rung_counter(const char *name);

/* Walks over every arena and checks all its invariants.  Returns the number of unsound arenas, and
   writes a line on stderr for each.  Takes each arena's lock for the whole of its walk: for tests. */
int rung_heap_check(void);

/* The value of an option by the name it has in `rung tunables`, as it is in force now; 0 for an
   unknown name. */
size_t rung_option(const char *name);

/* "0.1.0" */
const char *rung_version(void);

#ifdef __cplusplus
}
#endif

#endif
