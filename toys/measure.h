/* How the demos and the workload look at their own memory without disturbing it: nothing here
 * allocates. */
#ifndef TOY_MEASURE_H
#define TOY_MEASURE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Huge pages would make memory resident that nobody wrote to, and stdio would allocate a buffer:
 * both go out of the way, for this process only. Call it first in main. */
static inline void measure_begin(void) {
    static char stdout_buffer[4096];
    setvbuf(stdout, stdout_buffer, _IOLBF, sizeof stdout_buffer);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

/* Resident memory with no file behind it, in KiB. smaps_rollup counts the pages themselves;
 * RssAnon in /proc/self/status comes from counters that lag behind by up to some hundred KiB on
 * some kernels. */
static inline long anonymous_rss_kib(void) {
    char text[4096];
    int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (length <= 0) {
        perror(
            "cannot read /proc/self/smaps_rollup (needs Linux 4.14 with CONFIG_PROC_PAGE_MONITOR)");
        exit(2);
    }
    close(file);
    text[length] = '\0';
    const char *line = strstr(text, "\nAnonymous:");
    if (line == NULL) {
        fprintf(stderr, "/proc/self/smaps_rollup has no line \"Anonymous:\"; is this Linux?\n");
        exit(2);
    }
    return strtol(line + strlen("\nAnonymous:"), NULL, 10);
}

#endif
