#include <stdio.h>
#include <string.h>

#include "command.h"
#include "print.h"

static const struct row {
    const char *text, *meaning;
} rows[] = {
#define MSG(id, text, meaning) {text, meaning},
#include "guard/messages.def"
#undef MSG
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static void print_as_text(void) {
    for (int i = 0; i < ROWS; i++) {
        puts(rows[i].text);
        print_wrapped(rows[i].meaning, 4);
    }
}

static void print_as_markdown(void) {
    print_page_head("Messages", "rung messages --markdown", "src/guard/messages.def");
    puts("What the library says on stderr before it ends the process with SIGABRT, because the "
         "heap is\n"
         "found corrupted. The texts are those of glibc's malloc.\n\n"
         "| message | where it is found, and what it means |\n"
         "|---|---|");
    for (int i = 0; i < ROWS; i++) {
        fputs("| ", stdout);
        print_markdown(rows[i].text);
        fputs(" | ", stdout);
        print_markdown(rows[i].meaning);
        puts(" |");
    }
}

static int messages(int argc, char **argv) {
    if (argc == 1)
        print_as_text();
    else if (argc == 2 && strcmp(argv[1], "--markdown") == 0)
        print_as_markdown();
    else
        return usage_error(&command_messages, "'%s' is not understood", argv[argc - 1]);
    return 0;
}

const struct command command_messages = {
    .name = "messages",
    .usage = "[--markdown]",
    .summary = "list the messages that end a process, and what they mean",
    .help = "Lists what the library says when it finds the heap corrupted, and what each message "
            "means.\n"
            "With --markdown as the page docs/messages.md.",
    .run = messages,
};
