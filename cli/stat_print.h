/* What `rung stat` prints. */
#ifndef RUNG_CLI_STAT_PRINT_H
#define RUNG_CLI_STAT_PRINT_H

#include "inspect.h"

void stat_print_text(const struct target *t, const struct inspection *i);
void stat_print_json(const struct target *t, const struct inspection *i);

#endif
