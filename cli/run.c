#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "settings.h"
#include "where.h"

/* As env and timeout have it: a status of our own, apart from those of the command. */
enum { STATUS_NOT_RUN = 125, STATUS_CANNOT_EXECUTE = 126, STATUS_NOT_FOUND = 127 };

static char *find_library(void) {
    char *here = program_directory();
    if (here == NULL) {
        complain(&command_run,
                 "where this program lies cannot be found out: %m; is /proc mounted?");
        return NULL;
    }
    char *library = file_in(here, "librung.so");
    if (library == NULL)
        library = file_in(here, "../lib/librung.so");
    if (library == NULL)
        complain(
            &command_run,
            "there is no librung.so in %s nor in %s/../lib; build it (target rung), or run the "
            "rung that lies beside one",
            here, here);
    else if (strpbrk(library, ": ") != NULL) {
        complain(
            &command_run,
            "%s cannot be preloaded, since LD_PRELOAD is split at blanks and colons; move it to "
            "a directory without them",
            library);
        free(library);
        library = NULL;
    }
    free(here);
    return library;
}

/* In front of what is there already: the first of several mallocs is the one that is used. */
static bool preload(const char *library) {
    const char *others = getenv("LD_PRELOAD");
    char *all;
    if (asprintf(&all, "%s%s%s", library, others != NULL && *others != '\0' ? ":" : "",
                 others != NULL ? others : "") < 0 ||
        setenv("LD_PRELOAD", all, 1) != 0) {
        complain(&command_run, "no memory");
        return false;
    }
    free(all);
    return true;
}

static int run(int argc, char **argv) {
    struct flag none[] = {{NULL, false}};
    const int at = take_settings(&command_run, argc, argv, none);
    if (at < 0)
        return STATUS_NOT_RUN;
    if (at == argc) {
        usage_error(&command_run, "which command?");
        return STATUS_NOT_RUN;
    }
    char *library = find_library();
    if (library == NULL || !preload(library))
        return STATUS_NOT_RUN;
    execvp(argv[at], argv + at);
    const bool missing = errno == ENOENT;
    complain(&command_run, "%s: %m", argv[at]);
    free(library);
    return missing ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE;
}

const struct command command_run = {
    .name = "run",
    .usage = "[--profile PROFILE] [-o NAME=VALUE]... [--] COMMAND [ARGUMENT...]",
    .summary = "run a command with Rung as its malloc",
    .help = "Runs COMMAND with the librung.so that lies beside this program (or in ../lib) in "
            "front of\n"
            "LD_PRELOAD. The profile and the options are put behind what RUNG_OPTIONS holds, so "
            "that they\n"
            "prevail; `rung tunables` lists them.\n"
            "\n"
            "The exit status is the command's; 127 when there is no such command, 126 when it "
            "cannot be\n"
            "executed, 125 when rung itself was used wrongly or there is no librung.so.\n"
            "\n"
            "  rung run -o arena_max=2 -o trim_threshold=64k -- redis-server\n"
            "  rung run --profile glibc python3 script.py",
    .run = run,
};
