#include <stdio.h>

#include "command.h"

static void list_commands(void) {
    puts("Rung is a malloc for Linux; this command runs programs with it and shows what it is made "
         "of.\n");
    puts("usage: rung COMMAND [ARGUMENT...]\n       rung --version\n\ncommands:");
    for (const struct command *const *c = commands; *c != NULL; c++)
        printf("  %-10s %s\n", (*c)->name, (*c)->summary);
    puts("\n`rung help COMMAND` says more.");
}

static int help(int argc, char **argv) {
    if (argc < 2) {
        list_commands();
        return 0;
    }
    const struct command *of = command_named(argv[1]);
    if (of == NULL)
        return usage_error(&command_help, "there is no command '%s'", argv[1]);
    printf("usage: rung %s%s%s\n\n%s\n", of->name, *of->usage != '\0' ? " " : "", of->usage,
           of->help);
    return 0;
}

const struct command command_help = {
    .name = "help",
    .usage = "[COMMAND]",
    .summary = "list the commands, or say what one does",
    .help = "Lists the commands, or says what one of them does and how it is used.",
    .run = help,
};
