/* The parts of `rung`, each a file of its own; main.c has the table. */
#ifndef RUNG_CLI_COMMAND_H
#define RUNG_CLI_COMMAND_H

#include "base/compiler.h"

struct command {
    const char *name;
    const char *usage;                 /* what stands behind the name */
    const char *summary;               /* one line */
    const char *help;                  /* the rest, in lines */
    int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
};

extern const struct command command_run, command_tunables, command_counters, command_messages,
    command_stat, command_lab, command_bench, command_help;

/* In order of display, ended by NULL. */
extern const struct command *const commands[];

/* NULL when there is none of that name. */
const struct command *command_named(const char *name);

/* Exit statuses of our own. */
enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* "rung NAME: ..." on stderr. */
void complain(const struct command *from, const char *format, ...) PRINTF_LIKE(2, 3);

/* The same, and where to read how it is used; returns STATUS_USAGE. */
int usage_error(const struct command *from, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
