#include "script.h"

static int bench(int argc, char **argv) {
    static const struct own_file own[] = {{"--rung", "librung.so"}, {NULL, NULL}};
    return become_script(&command_bench, "bench/bench.py", own, argc, argv);
}

const struct command command_bench = {
    .name = "bench",
    .usage = "ARGUMENT...",
    .summary = "compare Rung with other allocators",
    .help = "Runs bench/bench.py of the source tree with these arguments; `rung bench --help` says "
            "which it\n"
            "takes.",
    .run = bench,
};
