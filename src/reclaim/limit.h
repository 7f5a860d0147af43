/* What is done about the limits on memory (options soft_limit and hard_limit; chunk/footprint.h counts).
 *
 * Near the soft limit the allowance for free memory shrinks (footprint_may_keep).  Who takes the account
 * beyond it gives back all that is free, then and whenever it has grown by another part; and if it is
 * beyond the limit still, calls the program's function. */
#ifndef RUNG_RECLAIM_LIMIT_H
#define RUNG_RECLAIM_LIMIT_H

#include <stddef.h>

/* NULL: none.  Takes effect for those who cross the limit later. */
void limit_on_soft(void (*f)(size_t used, void *arg), void *arg);

/* The calling thread has exceeded the soft limit.  No lock held. */
void limit_exceeded(void);

/* In the child of a fork. */
void limit_fork_child(void);

#endif
