/* The printers of `rung tunables`.  The options have been read. */
#ifndef RUNG_CLI_TUNABLES_H
#define RUNG_CLI_TUNABLES_H

void tunables_print_text(void);
void tunables_print_json(void);

/* The reference: what holds on every machine and in every environment. */
void tunables_print_markdown(void);

#endif
