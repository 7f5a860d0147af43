/* Commands that are Python programs of the source tree. */
#ifndef RUNG_CLI_SCRIPT_H
#define RUNG_CLI_SCRIPT_H

#include "command.h"

/* Becomes the program NAME of the source tree, with argv's arguments; returns only when it cannot:
   the exit status, after a complaint. */
int become_script(const struct command *from, const char *name, int argc, char **argv);

#endif
