#include "tunables.h"

#include <stdio.h>

#include "options/options.h"
#include "options/parse.h"
#include "print.h"

#define FOR_EACH_OPTION(i) for (enum option i = 0; i < OPTION_COUNT; i++)

const char *option_origin_text(enum option which) {
    switch (option_origin(which)) {
    case ORIGIN_PROFILE:
        return "profile";
    case ORIGIN_HUGETLB:
        return "hugetlb";
    case ORIGIN_ALIAS:
        return option_info(which)->alias;
    case ORIGIN_TUNABLES:
        return "GLIBC_TUNABLES";
    case ORIGIN_RUNG_OPTIONS:
        return "RUNG_OPTIONS";
    case ORIGIN_MALLOPT:
        return "mallopt";
    }
    return "?";
}

static const char *range_text(enum option which) {
    static char buf[120];
    struct text range = text_in(buf, sizeof buf);
    option_range_text(&range, which);
    return buf;
}

/* The option's other names, with `quote` around each and something between them. */
static void print_names(enum option which, const char *quote, const char *between) {
    const struct option_info *row = option_info(which);
    const char *gap = "";
    if (row->alias != NULL) {
        printf("%s%s%s", quote, row->alias, quote);
        gap = between;
    }
    if (row->tunable != NULL) {
        printf("%s%s%s%s", gap, quote, row->tunable, quote);
        gap = between;
    }
    if (row->mallopt != MALLOPT_NONE)
        printf("%s%smallopt(M_%s)%s", gap, quote, row->mallopt_name, quote);
}

void tunables_print_text(void) {
    printf("profile %s\n", profile_name[option_profile()]);
    FOR_EACH_OPTION(i) {
        const struct option_info *row = option_info(i);
        const char *no_effect = option_no_effect(i);
        printf("\n%s = %zu (%s)\n", row->name, option(i), option_origin_text(i));
        if (no_effect != NULL)
            printf("    NO EFFECT: %s\n", no_effect);
        print_wrapped(row->what, 4);
        printf("    profiles:");
        for (int p = 0; p < PROFILE_COUNT; p++)
            printf("%s %s %zu", p == 0 ? "" : ",", profile_name[p], row->profile[p]);
        printf("\n    takes %s\n    also: ", range_text(i));
        print_names(i, "", ", ");
        putchar('\n');
    }
}

void tunables_print_members(void) {
    printf("  \"profile\": ");
    print_json_string(profile_name[option_profile()]);
    printf(",\n  \"options\": [");
    static const char *const types[] = {
        [TYPE_BOOL] = "bool", [TYPE_COUNT] = "count", [TYPE_BYTES] = "bytes"};
    FOR_EACH_OPTION(i) {
        const struct option_info *row = option_info(i);
        printf("%s\n    {\n      \"name\": ", i == 0 ? "" : ",");
        print_json_string(row->name);
        printf(",\n      \"value\": %zu,\n      \"origin\": ", option(i));
        print_json_string(option_origin_text(i));
        printf(",\n      \"type\": \"%s\",\n      \"profiles\": {", types[row->type]);
        for (int p = 0; p < PROFILE_COUNT; p++)
            printf("%s\"%s\": %zu", p == 0 ? "" : ", ", profile_name[p], row->profile[p]);
        printf("},\n      \"min\": %zu,\n      \"max\": %zu,\n      \"alias\": ", row->min,
               row->max);
        print_json_string(row->alias);
        printf(",\n      \"tunable\": ");
        print_json_string(row->tunable);
        printf(",\n      \"mallopt\": ");
        if (row->mallopt == MALLOPT_NONE)
            printf("null");
        else
            printf("%d", row->mallopt);
        printf(",\n      \"what\": ");
        print_json_string(row->what);
        printf(",\n      \"why\": ");
        print_json_string(row->why);
        printf(",\n      \"no_effect\": ");
        print_json_string(option_no_effect(i));
        printf("\n    }");
    }
    printf("\n  ]");
}

void tunables_print_json(void) {
    puts("{");
    tunables_print_members();
    puts("\n}");
}

static void print_introduction(void) {
    print_page_head("Options", "rung tunables --markdown", "src/options/options.def");
    puts("Every option has a value in each profile, and can be set in up to four places. The later "
         "ones in\n"
         "this list prevail:\n"
         "\n"
         "1. the profile: `glibc`, or `default` if none is named;\n"
         "2. an environment variable of its own, such as `MALLOC_ARENA_MAX=4`;\n"
         "3. `GLIBC_TUNABLES=name=value:name=value`;\n"
         "4. `RUNG_OPTIONS=name=value,name=value`, where `profile=NAME` chooses the profile;\n"
         "5. the program itself, by `mallopt`.\n"
         "\n"
         "The variables and `GLIBC_TUNABLES` are read as glibc 2.43 reads them: decimal, octal "
         "(`010`) and\n"
         "hexadecimal (`0x10`) numbers, values out of range ignored, and a `GLIBC_TUNABLES` that "
         "is not\n"
         "well-formed ignored as a whole, without a word. `RUNG_OPTIONS` also takes sizes such as "
         "`64k`, `1M` and\n"
         "`2g`, and what it gets wrong is said on stderr. A process that runs with privileges its "
         "caller has\n"
         "not (setuid and the like) ignores all of these variables.\n"
         "\n"
         "`rung tunables` shows the values in force, where they come from, and which have no "
         "effect and\n"
         "why; `rung run -o NAME=VALUE COMMAND` sets some for one command.\n");
}

void tunables_print_markdown(void) {
    print_introduction();
    printf("| option |");
    for (int p = 0; p < PROFILE_COUNT; p++)
        printf(" `%s` |", profile_name[p]);
    puts(" what it does |");
    printf("|---|");
    for (int p = 0; p < PROFILE_COUNT; p++)
        printf("--:|");
    puts("---|");
    FOR_EACH_OPTION(i) {
        const struct option_info *row = option_info(i);
        printf("| [`%s`](#%s) |", row->name, row->name);
        for (int p = 0; p < PROFILE_COUNT; p++)
            printf(" %zu |", row->profile[p]);
        putchar(' ');
        print_markdown(row->what);
        puts(" |");
    }
    FOR_EACH_OPTION(i) {
        const struct option_info *row = option_info(i);
        printf("\n## %s\n\n- takes %s\n- value: ", row->name, range_text(i));
        print_markdown(row->why);
        printf("\n- also set by ");
        print_names(i, "`", ", ");
        putchar('\n');
    }
}
