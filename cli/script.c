#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "where.h"

/* The distribution's own, whatever PATH has in front of it. */
#define PYTHON "/usr/bin/python3"

/* The tree this was built from; or, if that has moved, the one the build directory lies in. */
static char *find_script(const char *name) {
    char *script = file_in(RUNG_SOURCE_DIR, name);
    if (script != NULL)
        return script;
    char *here = program_directory();
    char *tree = here != NULL ? file_in(here, "../..") : NULL;
    if (tree != NULL)
        script = file_in(tree, name);
    free(tree);
    free(here);
    return script;
}

/* Adds the options that point to this build's files, as far as those are there. */
static size_t add_own_files(char **command, const struct own_file *own) {
    size_t n = 0;
    char *here = program_directory();
    for (; own->option != NULL && here != NULL; own++) {
        char *file = file_in(here, own->name);
        if (file == NULL)
            continue;
        command[n++] = (char *)own->option;
        command[n++] = file;
    }
    free(here);
    return n;
}

int become_script(const struct command *from, const char *name, const struct own_file *own,
                  int argc, char **argv) {
    char *script = find_script(name);
    if (script == NULL) {
        complain(from,
                 "there is no %s in " RUNG_SOURCE_DIR
                 " nor two directories above this program; it is "
                 "a part of Rung's source tree: run the rung that was built there",
                 name);
        return STATUS_FAILED;
    }
    static char python[] = PYTHON;
    size_t own_count = 0;
    while (own[own_count].option != NULL)
        own_count++;
    char **command = calloc((size_t)argc + 2 * own_count + 2, sizeof *command);
    if (command == NULL) {
        complain(from, "no memory");
        return STATUS_FAILED;
    }
    command[0] = python;
    command[1] = script;
    /* First, so that the caller's own options win. */
    size_t n = 2 + add_own_files(command + 2, own);
    memcpy(command + n, argv + 1, (size_t)(argc - 1) * sizeof *command);
    execv(PYTHON, command);
    complain(from, PYTHON ": %m; install the package python3 (`tools/deps install demo` does)");
    free(command);
    free(script);
    return STATUS_FAILED;
}
