/* Whether large objects and blocks get filled: then huge pages save most of the page faults, and cost nothing.  An
 * owner who touches a part only would have all of a huge page resident for it.
 *
 * Nothing is assumed: of memory that was handed out with small pages one stretch at a time is watched, and
 * when the next is wanted, or the stretch comes back, the kernel is asked what has become of it.  Two that
 * were found full are reason to expect it of the next; one that was not is reason not to, until two have been
 * full again.  While huge pages are in use nothing can be learned, so one stretch in sixteen does without.
 *
 * All guarded by the lock of space. */
#ifndef RUNG_RUNS_FILLED_H
#define RUNG_RUNS_FILLED_H

#include <stdbool.h>
#include <stddef.h>

struct filled {
    const char *watched; /* NULL: nothing is */
    size_t len;
    unsigned full_in_a_row;
    unsigned expected;   /* how often */
};

/* `len` bytes at `start`, of which nothing is resident, are about to be handed out.  Whether they will be filled;
   if not, or if that is to be seen, they are watched. */
bool filled_expected(struct filled *f, char *start, size_t len);

/* `bytes` at `start` are given back, and still as their owner left them. */
void filled_before_give(struct filled *f, const char *start, size_t bytes);

#endif
