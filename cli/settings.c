#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/parse.h"

/* Whether the library would understand it; complains if not. */
static bool understood(const struct command *from, const char *assignment) {
    const struct assignment a = assignment_read(span_of(assignment));
    if (!assignment_faulty(&a))
        return true;
    char buf[512];
    struct text why = text_in(buf, sizeof buf);
    assignment_explain(&why, span_of(assignment), &a);
    complain(from, "%s", buf);
    return false;
}

/* Puts front and value, which together are NAME=VALUE, behind what RUNG_OPTIONS holds. */
static bool add(const struct command *from, const char *front, const char *value) {
    const char *before = getenv("RUNG_OPTIONS");
    char *assignment = NULL, *all = NULL;
    bool added = false;
    if (asprintf(&assignment, "%s%s", front, value) < 0 ||
        asprintf(&all, "%s%s%s", before != NULL ? before : "",
                 before != NULL && *before != '\0' ? "," : "", assignment) < 0)
        complain(from, "no memory");
    else if (understood(from, assignment))
        added = setenv("RUNG_OPTIONS", all, 1) == 0;
    free(assignment);
    free(all);
    return added;
}

/* The value of option `name` when argv[*at] is it: "NAME=VALUE", for a short one "NAMEVALUE", or the
   next argument, which *at is then moved to.  NULL when it is another option; "" is a value. */
static const char *value_of(const char *name, int argc, char **argv, int *at, bool *missing) {
    const size_t len = strlen(name);
    const char *argument = argv[*at];
    const bool is_long = name[1] == '-';
    if (strncmp(argument, name, len) != 0)
        return NULL;
    if (argument[len] != '\0') {
        if (!is_long)
            return argument + len;
        return argument[len] == '=' ? argument + len + 1 : NULL;
    }
    *missing = *at + 1 == argc;
    return *missing ? NULL : argv[++*at];
}

static bool take_flag(const char *argument, struct flag *flags) {
    for (; flags->name != NULL; flags++) {
        if (strcmp(argument, flags->name) == 0)
            return flags->given = true;
    }
    return false;
}

int take_settings(const struct command *from, int argc, char **argv, struct flag *flags) {
    int at = 1;
    for (; at < argc && argv[at][0] == '-' && argv[at][1] != '\0'; at++) {
        const char *argument = argv[at], *value;
        bool missing = false;
        if (strcmp(argument, "--") == 0)
            return at + 1;
        if (take_flag(argument, flags))
            continue;
        if ((value = value_of("--profile", argc, argv, &at, &missing)) != NULL) {
            if (!add(from, "profile=", value))
                return -1;
        } else if (!missing && (value = value_of("-o", argc, argv, &at, &missing)) != NULL) {
            if (!add(from, "", value))
                return -1;
        } else {
            usage_error(from, missing ? "%s needs a value behind it" : "there is no option %s",
                        argument);
            return -1;
        }
    }
    return at;
}
