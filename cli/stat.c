#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "inspect.h"
#include "stat_print.h"
#include "target.h"

struct wish {
    int pid;
    bool json;
    double every; /* seconds; 0: once */
};

static bool number(const char *text, double *n) {
    char *end;
    errno = 0;
    *n = strtod(text, &end);
    return errno == 0 && end != text && *end == '\0' && *n > 0 && *n <= 1e9;
}

/* 0, or the status to end with. */
static int understand(int argc, char **argv, struct wish *w) {
    double n;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            w->json = true;
        } else if (strcmp(argv[i], "--watch") == 0) {
            if (++i == argc || !number(argv[i], &w->every))
                return usage_error(&command_stat, "--watch needs a number of seconds behind it");
        } else if (w->pid == 0 && number(argv[i], &n) && (double)(int)n == n) {
            w->pid = (int)n;
        } else {
            return usage_error(&command_stat, "'%s' is not understood", argv[i]);
        }
    }
    return w->pid == 0 ? usage_error(&command_stat, "of which process?") : 0;
}

static bool show(const struct target *t, const struct wish *w) {
    static struct inspection i;
    if (!inspect(t, &i)) {
        if (target_has_ended(t))
            complain(&command_stat, "process %d has ended", t->pid);
        else
            complain(&command_stat, "process %d could not be read to the end; try again", t->pid);
        return false;
    }
    (w->json ? stat_print_json : stat_print_text)(t, &i);
    inspection_free(&i);
    return true;
}

static void wait_for_next(const struct wish *w) {
    struct timespec pause;
    pause.tv_sec = (time_t)w->every;
    pause.tv_nsec = (long)((w->every - (double)pause.tv_sec) * 1e9);
    fflush(stdout);
    nanosleep(&pause, NULL);
}

static int stat_command(int argc, char **argv) {
    static struct target t;
    struct wish w = {0};
    int status = understand(argc, argv, &w);
    if (status != 0)
        return status;
    if (!target_open(&command_stat, &t, w.pid))
        return STATUS_FAILED;
    const bool clear = w.every > 0 && !w.json && isatty(STDOUT_FILENO) == 1;
    for (;;) {
        if (clear)
            fputs("\033[H\033[2J", stdout);
        if (!show(&t, &w))
            return STATUS_FAILED;
        if (w.every <= 0 || ferror(stdout))
            return 0;
        wait_for_next(&w);
        if (!clear && !w.json)
            putchar('\n');
    }
}

const struct command command_stat = {
    .name = "stat",
    .usage = "[--json] [--watch SECONDS] PID",
    .summary = "show where the memory of a running process is",
    .help = "Looks into a process that runs on Rung, and changes nothing in it: what is live, cached, pinned,\n"
            "free and resident, free and given back; for each size, each arena and each window; and the options\n"
            "in force. docs/stat.md explains the words. It takes the rights a debugger takes.\n"
            "\n"
            "With --json for programs. With --watch again and again, until the process ends.",
    .run = stat_command,
};
