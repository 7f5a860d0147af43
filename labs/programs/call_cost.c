/* call_cost CALLS: what an empty system call, sbrk(16) and malloc(16) cost, in tenths of a nanosecond a call. The three
 * take turns, a tenth of the calls at a time, and the fastest turn of each counts: other work on the machine cannot
 * then fall on one of them alone. */
#include "probe.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *volatile sink;

static void empty_system_call(void) {
    syscall(SYS_getppid);
}

static void move_break(void) {
    sink = sbrk(16);
}

static void allocate(void) {
    sink = malloc(16);
}

#define ROUNDS 10

static const struct {
    const char *name;
    void (*call)(void);
} timed[] = {{"syscall", empty_system_call}, {"sbrk", move_break}, {"malloc", allocate}};
#define TIMED (sizeof timed / sizeof timed[0])

static uint64_t time_calls(void (*volatile call)(void), long calls) {
    uint64_t start = now_ns();
    for (long i = 0; i < calls; i++)
        call();
    return now_ns() - start;
}

int main(int argc, char **argv) {
    long calls = argument(argc, argv, 1, 1000000) / ROUNDS;
    uint64_t best[TIMED];
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < TIMED; i++) {
            uint64_t took = time_calls(timed[i].call, calls);
            if (round == 0 || took < best[i])
                best[i] = took;
        }
    for (size_t i = 0; i < TIMED; i++)
        say("%s.tenths=%llu", timed[i].name, (unsigned long long)(best[i] * 10 / (uint64_t)calls));
    return 0;
}
