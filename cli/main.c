#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

const struct command *const commands[] = {
    &command_run,      &command_stat, &command_tunables, &command_counters,
    &command_messages, &command_lab,  &command_bench,    &command_help,     NULL,
};

const struct command *command_named(const char *name) {
    for (const struct command *const *c = commands; *c != NULL; c++) {
        if (strcmp((*c)->name, name) == 0)
            return *c;
    }
    return NULL;
}

void complain(const struct command *from, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "rung %s: ", from->name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

int usage_error(const struct command *from, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "rung %s: ", from->name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "; `rung help %s` says how it is used\n", from->name);
    va_end(args);
    return STATUS_USAGE;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fputs("rung: what shall I do? `rung help` lists the commands\n", stderr);
        return STATUS_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("rung " RUNG_VERSION);
        return 0;
    }
    const bool help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    const struct command *command = help ? &command_help : command_named(argv[1]);
    if (command == NULL) {
        fprintf(stderr, "rung: there is no command '%s'; `rung help` lists them\n", argv[1]);
        return STATUS_USAGE;
    }
    const int status = command->run(argc - 1, argv + 1);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain(command, "the output could not be written: %m");
        return STATUS_FAILED;
    }
    return status;
}
