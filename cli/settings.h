/* --profile and -o, which `run` and `tunables` share: they become a part of RUNG_OPTIONS. */
#ifndef RUNG_CLI_SETTINGS_H
#define RUNG_CLI_SETTINGS_H

#include <stdbool.h>

#include "command.h"

/* An argument of a command's own that takes no value, "--json". */
struct flag {
    const char *name;
    bool given;
};

/* Takes the arguments at the front of argv that begin with "-": --profile PROFILE, -o NAME=VALUE and
   the flags (ended by a NULL name); "--" ends them.  What is set goes behind what RUNG_OPTIONS
   holds in our own environment, so that it prevails, and is checked as the library will.  Returns
   the index of the argument behind them, or -1 after a complaint. */
int take_settings(const struct command *from, int argc, char **argv, struct flag *flags);

#endif
