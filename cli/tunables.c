#include <stdbool.h>
#include <unistd.h>

#include "base/bits.h"
#include "command.h"
#include "options/parse.h"
#include "options/threshold.h"
#include "os/os.h"
#include "settings.h"
#include "tunables.h"

/* What the library does at its start, with the environment that a command run from here would see. */
static void read_options_as_the_library(void) {
    os_read_facts();
    os_read_huge_page_facts();
    options_read_environment(environ, false);
    /* Huge pages that no sub-heap can hold serve mapped chunks only and change no threshold. */
    if (option_huge_page() != 0 && option_huge_page() <= 64 * MIB)
        thresholds_for_huge_pages(option_huge_page());
}

static int tunables(int argc, char **argv) {
    enum { MARKDOWN, JSON };
    struct flag flags[] = {
        [MARKDOWN] = {"--markdown", false}, [JSON] = {"--json", false}, {NULL, false}};
    const int at = take_settings(&command_tunables, argc, argv, flags);
    if (at < 0)
        return STATUS_USAGE;
    if (at < argc)
        return usage_error(&command_tunables, "'%s' is not understood", argv[at]);
    if (flags[MARKDOWN].given && flags[JSON].given)
        return usage_error(&command_tunables, "--markdown and --json exclude each other");
    read_options_as_the_library();
    if (flags[MARKDOWN].given)
        tunables_print_markdown();
    else if (flags[JSON].given)
        tunables_print_json();
    else
        tunables_print_text();
    return 0;
}

const struct command command_tunables = {
    .name = "tunables",
    .usage = "[--profile PROFILE] [-o NAME=VALUE]... [--markdown | --json]",
    .summary = "list the options, their values and where those come from",
    .help =
        "Lists every option: the value it has in a program started from here, where that comes "
        "from,\n"
        "its value in each profile, what it takes, its other names, and whether and why it has no\n"
        "effect. --profile and -o are taken as `rung run` takes them.\n"
        "\n"
        "With --json for programs. With --markdown as the page docs/options.md, which says nothing "
        "of\n"
        "this environment.",
    .run = tunables,
};
