#include "where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *program_directory(void) {
    char *path = realpath("/proc/self/exe", NULL);
    if (path != NULL)
        *strrchr(path, '/') = '\0';
    return path;
}

char *file_in(const char *directory, const char *name) {
    char *path;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return NULL;
    char *resolved = realpath(path, NULL);
    free(path);
    return resolved;
}
