#include <stdio.h>
#include <string.h>

#include "command.h"
#include "print.h"

static const struct row {
    const char *name, *unit, *help;
} rows[] = {
#define COUNTER(id, name, unit, help) {name, unit, help},
#include "base/counters.def"
#undef COUNTER
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static void print_as_text(void) {
    for (int i = 0; i < ROWS; i++) {
        printf("%s (%s)\n", rows[i].name, rows[i].unit);
        print_wrapped(rows[i].help, 4);
    }
}

static void print_as_markdown(void) {
    print_page_head("Counters", "rung counters --markdown", "src/base/counters.def");
    puts("What the library counts, for the whole process. Those described as a gauge go up and "
         "down, the\n"
         "others only grow. A program reads one with `rung_counter(\"NAME\")` from "
         "`rung/rung.h`.\n\n"
         "| counter | unit | what it counts |\n"
         "|---|---|---|");
    for (int i = 0; i < ROWS; i++) {
        printf("| `%s` | %s | ", rows[i].name, rows[i].unit);
        print_markdown(rows[i].help);
        puts(" |");
    }
}

static int counters(int argc, char **argv) {
    if (argc == 1)
        print_as_text();
    else if (argc == 2 && strcmp(argv[1], "--markdown") == 0)
        print_as_markdown();
    else
        return usage_error(&command_counters, "'%s' is not understood", argv[argc - 1]);
    return 0;
}

const struct command command_counters = {
    .name = "counters",
    .usage = "[--markdown]",
    .summary = "list what the library counts",
    .help = "Lists the counters of the library: name, unit and what is counted. With --markdown as "
            "the page\n"
            "docs/counters.md.",
    .run = counters,
};
