/* Fork in a process with threads; the rules are at the top of life/fork.c. */
#ifndef RUNG_LIFE_FORK_H
#define RUNG_LIFE_FORK_H

#include <stdbool.h>

/* Registers the handlers with libc; once. */
void fork_hooks_init(void);

/* Between the prepare handler of a fork and the handler after it, in any thread. */
bool fork_is_under_way(void);

/* For whoever was refused something and would take that for an answer for ever: what fork_watch() said before tells
   afterwards whether a fork may have been the reason, in which case it shall try again later. */
unsigned fork_watch(void);
bool fork_was_in_the_way(unsigned since);

#endif
