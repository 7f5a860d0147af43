#include "script.h"

static int bench(int argc, char **argv) {
    return become_script(&command_bench, "bench/bench.py", argc, argv);
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
