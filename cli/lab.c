#include "script.h"

static int lab(int argc, char **argv) {
    static const struct own_file own[] = {
        {"--librung", "librung.so"}, {"--bindir", "labs"}, {NULL, NULL}};
    return become_script(&command_lab, "labs/lab.py", own, argc, argv);
}

const struct command command_lab = {
    .name = "lab",
    .usage = "ARGUMENT...",
    .summary = "experiments that show what the allocator does",
    .help = "Runs labs/lab.py of the source tree with these arguments; `rung lab --help` says "
            "which it takes.",
    .run = lab,
};
