/* Fork in a process with threads; the rules are at the top of life/fork.c. */
#ifndef RUNG_LIFE_FORK_H
#define RUNG_LIFE_FORK_H

#include <stdbool.h>

/* Registers the handlers with libc; once. */
void fork_hooks_init(void);

/* Between the prepare handler of a fork and the handler after it, in any thread. */
bool fork_is_under_way(void);

#endif
