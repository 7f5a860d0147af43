/* The printers of `rung tunables`.  The options have been read. */
#ifndef RUNG_CLI_TUNABLES_H
#define RUNG_CLI_TUNABLES_H

#include "options/options.h"

void tunables_print_text(void);
void tunables_print_json(void);

/* The members of its object. */
void tunables_print_members(void);

/* Who gave the option its value. */
const char *option_origin_text(enum option which);

/* The reference: what holds on every machine and in every environment. */
void tunables_print_markdown(void);

#endif
