// Reads how much memory a process has, from outside and 50 times a second, until it ends. A line a sample:
//
//   NANOSECONDS VIRTUAL_KIB RESIDENT_KIB [LAZY_KIB]
//
// by the monotonic clock. LAZY_KIB is what is resident but the kernel may take (MADV_FREE); to read it the kernel walks
// over all of the process's pages, so that it is there only twice a second.
#pragma once
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLE_NS = 20000000, LAZY_EVERY = 25 };

static inline ssize_t read_again(int file, char *text, size_t size) {
    ssize_t length = pread(file, text, size - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    return length;
}

static inline int open_proc(pid_t pid, const char *what) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    return open(path, O_RDONLY | O_CLOEXEC);
}

// Opened anew each time, as it stays with the program that the process was running when it was opened.
static inline void sample_lazy(pid_t pid, FILE *out) {
    char text[2048];
    int rollup = open_proc(pid, "smaps_rollup");
    const char *lazy = rollup >= 0 && read_again(rollup, text, sizeof text) > 0 ? strstr(text, "\nLazyFree:") : NULL;
    if (lazy) {
        fprintf(out, " %lu", strtoul(lazy + strlen("\nLazyFree:"), NULL, 10));
    }
    close(rollup);
}

static inline void sample(int statm, FILE *out) {
    char text[256], *end;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (read_again(statm, text, sizeof text) <= 0) {
        return;
    }
    unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
    unsigned long virtual = strtoul(text, &end, 10) * page, resident = strtoul(end, NULL, 10) * page;
    fprintf(out, "%lld %lu %lu", (long long)t.tv_sec * 1000000000 + t.tv_nsec, virtual, resident);
}

// Until `pid`, a child, has ended; it is left to be waited for. 0 if a file could not be read or written.
static inline int watch(pid_t pid, FILE *out) {
    int statm = open_proc(pid, "statm");
    struct timespec next;
    siginfo_t ended = {0};
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (unsigned count = 0; statm >= 0; count++) {
        if (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == pid) {
            break;
        }
        sample(statm, out);
        if (count % LAZY_EVERY == 0) {
            sample_lazy(pid, out);
        }
        fputc('\n', out);
        next.tv_nsec += SAMPLE_NS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    close(statm);
    return fclose(out) == 0 && statm >= 0;
}
