/* Fork in a process with threads; the rules are at the top of life/fork.c. */
#ifndef RUNG_LIFE_FORK_H
#define RUNG_LIFE_FORK_H

/* Registers the handlers with libc; once. */
void fork_hooks_init(void);

#endif
