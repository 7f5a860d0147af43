/* For runs_check() and tests: what must be true of windows and runs. */
#ifndef RUNG_RUNS_CHECK_H
#define RUNG_RUNS_CHECK_H

#include <stddef.h>

#include "runs/window.h"

/* The free objects that the run's bitmap shows.  Lock of its size held. */
size_t run_count_free(struct run *r);

/* NULL when all windows are sound, otherwise what is wrong; *where: the page at fault.  Lock of space
   held, and those of all sizes: pages change hands under both. */
const char *space_check(const void **where);

#endif
