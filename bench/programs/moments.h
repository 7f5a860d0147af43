// What the programs of `rung bench --memory` tell the harness, which reads their memory from outside: what they do
// from now on (phases), and when a reading is owed (moments). BENCH_MOMENTS is the number of a descriptor for lines of
//
//   phase|moment NAME NANOSECONDS USER_US SYSTEM_US FAULTS CALLS
//   live BYTES NANOSECONDS
//
// by the monotonic clock; CALLS are the system calls Rung has made, -1 under others. After start() nothing here calls
// malloc, as silence is one of the things that are measured.
#pragma once
#include <dlfcn.h>
#include <sys/resource.h>
#include "work.h"

static int moments_file = -1;
static double moments_pace = 1;
static size_t (*moments_counter)(const char *);

static inline long long monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline long long system_calls(void) {
    static const char *const names[] = {
        "sys_brk", "sys_mmap", "sys_munmap", "sys_mprotect", "sys_madvise", "sys_populate", "sys_mremap", "sys_other",
    };
    long long sum = 0;
    if (!moments_counter) {
        return -1;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        sum += (long long)moments_counter(names[i]);
    }
    return sum;
}

static inline void tell(const char *text, int length) {
    // Whole or not at all: it is shorter than a file system's block and the file is opened to append.
    if (moments_file >= 0 && write(moments_file, text, (size_t)length) != length) {
        fprintf(stderr, "cannot write to the harness's descriptor\n");
        exit(1);
    }
}

static inline void tell_point(const char *kind, const char *name) {
    char line[200];
    struct rusage use;
    long long ns = monotonic_ns();
    getrusage(RUSAGE_SELF, &use);
    tell(line, snprintf(line, sizeof line, "%s %s %lld %lld %lld %ld %lld\n", kind, name, ns,
                        (long long)use.ru_utime.tv_sec * 1000000 + use.ru_utime.tv_usec,
                        (long long)use.ru_stime.tv_sec * 1000000 + use.ru_stime.tv_usec, use.ru_minflt + use.ru_majflt,
                        system_calls()));
}

static inline void live(size_t bytes) {
    char line[80];
    tell(line, snprintf(line, sizeof line, "live %zu %lld\n", bytes, monotonic_ns()));
}

// From now on the program does what `name` says; "rest" is for doing nothing.
static inline void phase(const char *name) {
    tell_point("phase", name);
}

// Less work takes less rest, so that the whole can be tried in a second.
static inline void still(double seconds) {
    rest(seconds * moments_pace);
}

// Memory is to be read now. The program stays still before, as the harness takes a sample every 20 ms.
static inline void moment(const char *name) {
    rest(0.07);
    tell_point("moment", name);
}

// First of all, when the program's own tables are filled in: what is resident now is not the allocator's doing.
static inline void start(int argc, char **argv, int index) {
    double factor = argc > index ? atof(argv[index]) : 1;
    const char *file = getenv("BENCH_MOMENTS");
    union {
        void *address;
        size_t (*call)(const char *);
    } counter = {dlsym(RTLD_DEFAULT, "rung_counter")};
    moments_counter = counter.call;
    moments_file = file ? atoi(file) : -1;
    moments_pace = factor < 1 ? factor : 1;
    moment("start");
}

// A table of the program's own, resident from the start.
#define PRESENT(table) memset(table, 1, sizeof table)

// The value is main's.
static inline int end(uint64_t sum) {
    moment("end");
    return finish(sum);
}
