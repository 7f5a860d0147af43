/* Text for people and for programs. */
#ifndef RUNG_CLI_PRINT_H
#define RUNG_CLI_PRINT_H

/* Lines of at most 80 characters, broken at blanks, `indent` blanks in front of each. */
void print_wrapped(const char *text, int indent);

/* Text inside a Markdown table, whatever characters it has. */
void print_markdown(const char *text);

/* A JSON string, quotes and all; null for NULL. */
void print_json_string(const char *text);

/* The head of a generated page: its title, and where it comes from. */
void print_page_head(const char *title, const char *command, const char *table);

#endif
