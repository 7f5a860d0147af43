// Runs a command and reports what it cost, from a process so small that its own size is in no figure: the
// peak of a child starts with that of the process it was forked from.
//
//   launch [--watch SAMPLES MOMENTS] REPORT PRELOAD COMMAND [ARGUMENT...]
//
// PRELOAD goes into LD_PRELOAD of the command alone ("" for none). REPORT gets one line: seconds by the clock,
// seconds of processor time, peak resident KiB of the largest process, page faults, and how it ended: its exit
// status, or 1000 and the signal. The command's descendants count as far as it waited for them. With --watch the
// command's memory is read meanwhile (samples.h), and the command may write to MOMENTS by the descriptor whose number
// BENCH_MOMENTS has.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "samples.h"

static double seconds(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int complain(const char *what, const char *name) {
    fprintf(stderr, "launch: %s %s: %s\n", what, name, strerror(errno));
    return 125;
}

static void become(const char *preload, int moments, char **command) {
    char number[16];
    if (moments >= 0) {
        snprintf(number, sizeof number, "%d", moments);
        setenv("BENCH_MOMENTS", number, 1);
    }
    if (*preload ? setenv("LD_PRELOAD", preload, 1) : unsetenv("LD_PRELOAD")) {
        _exit(complain("cannot set", "LD_PRELOAD"));
    }
    execvp(command[0], command);
    _exit(complain("cannot run", command[0]));
}

int main(int argc, char **argv) {
    int watching = argc > 1 && strcmp(argv[1], "--watch") == 0;
    char **rest = argv + (watching ? 4 : 1);
    if (argc < (watching ? 7 : 4)) {
        fprintf(stderr, "usage: launch [--watch SAMPLES MOMENTS] REPORT PRELOAD COMMAND [ARGUMENT...]\n");
        return 125;
    }
    FILE *samples = watching ? fopen(argv[2], "we") : NULL;
    // Not closed when the command begins: it is the command that writes there.
    int moments = watching ? open(argv[3], O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (watching && (!samples || moments < 0)) {
        return complain("cannot write", samples ? argv[3] : argv[2]);
    }
    FILE *report = fopen(rest[0], "we");
    if (!report) {
        return complain("cannot write", rest[0]);
    }
    double begin = now();
    pid_t child = fork();
    if (child < 0) {
        return complain("cannot fork for", rest[2]);
    }
    if (child == 0) {
        become(rest[1], moments, rest + 2);
    }
    int status;
    struct rusage use;
    if (samples && !watch(child, samples)) {
        return complain("cannot write", argv[2]);
    }
    while (wait4(child, &status, 0, &use) < 0) {
        if (errno != EINTR) {
            return complain("cannot wait for", rest[2]);
        }
    }
    double wall = now() - begin;
    fprintf(report, "%.6f %.6f %ld %ld %d\n", wall, seconds(use.ru_utime) + seconds(use.ru_stime), use.ru_maxrss,
            use.ru_minflt + use.ru_majflt, WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status));
    return fclose(report) == 0 ? 0 : complain("cannot write", rest[0]);
}
