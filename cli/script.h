/* Commands that are Python programs of the source tree. */
#ifndef RUNG_CLI_SCRIPT_H
#define RUNG_CLI_SCRIPT_H

#include <stddef.h>

#include "command.h"

/* An option of a script, and the file beside this program that it names by default: the library and the
   programs of the very build that `rung` is part of. */
struct own_file {
    const char *option; /* NULL ends a list */
    const char *name;
};

/* Becomes the program NAME of the source tree, with argv's arguments; returns only when it cannot:
   the exit status, after a complaint. */
int become_script(const struct command *from, const char *name, const struct own_file *own,
                  int argc, char **argv);

#endif
