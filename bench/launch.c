// Runs a command and reports what it cost, from a process so small that its own size is in no figure: the
// peak of a child starts with that of the process it was forked from.
//
//   launch REPORT PRELOAD COMMAND [ARGUMENT...]
//
// PRELOAD goes into LD_PRELOAD of the command alone ("" for none). REPORT gets one line: seconds by the clock,
// seconds of processor time, peak resident KiB of the largest process, page faults, and how it ended: its exit
// status, or 1000 and the signal. The command's descendants count as far as it waited for them.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: launch REPORT PRELOAD COMMAND [ARGUMENT...]\n");
        return 125;
    }
    FILE *report = fopen(argv[1], "we");
    if (!report) {
        return complain("cannot write", argv[1]);
    }
    double begin = now();
    pid_t child = fork();
    if (child < 0) {
        return complain("cannot fork for", argv[3]);
    }
    if (child == 0) {
        if (*argv[2] ? setenv("LD_PRELOAD", argv[2], 1) : unsetenv("LD_PRELOAD")) {
            _exit(complain("cannot set", "LD_PRELOAD"));
        }
        execvp(argv[3], argv + 3);
        _exit(complain("cannot run", argv[3]));
    }
    int status;
    struct rusage use;
    while (wait4(child, &status, 0, &use) < 0) {
        if (errno != EINTR) {
            return complain("cannot wait for", argv[3]);
        }
    }
    double wall = now() - begin;
    fprintf(report, "%.6f %.6f %ld %ld %d\n", wall, seconds(use.ru_utime) + seconds(use.ru_stime), use.ru_maxrss,
            use.ru_minflt + use.ru_majflt, WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status));
    return fclose(report) == 0 ? 0 : complain("cannot write", argv[1]);
}
