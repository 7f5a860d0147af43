// Row N18: a thread's memory grows and shrinks with few system calls: two for each MiB; and, in runs, calls that make
// pages resident, each in place of page faults. Where runs are first given
// back, one after another in the order opposite to that in which they were filled, it is some fifteen; once
// the program has shown that it takes them again, none.
#include "check.h"
#include "counters.h"
#include <pthread.h>

enum { BLOCKS = 40000, SIZE = 2000, MEBIBYTES = (long)BLOCKS * SIZE >> 20 };
enum { CALLS_A_MEBIBYTE = 2, OF_RUNS_AT_FIRST = 20 };
static void *blocks[BLOCKS];
static int round_number;

static size_t system_calls(void) {
    static const char *const names[] = {"sys_brk",      "sys_mmap",    "sys_munmap",
                                        "sys_mprotect", "sys_madvise", "sys_mremap"};
    size_t sum = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        sum += counter(names[i]);
    return sum;
}

static void *up_and_down(void *unused) {
    free(malloc(1));
    size_t start = system_calls();
    size_t populated = counter("sys_populate");
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(SIZE);
        REQUIRE(blocks[i], "no memory");
        memset(blocks[i], 1, SIZE);
    }
    size_t up = system_calls();
    populated = counter("sys_populate") - populated;
    for (int i = BLOCKS; i-- > 0;)
        free(blocks[i]);
    size_t down = system_calls();
    say("%d MiB: %zu system calls on the way up, %zu on the way down", MEBIBYTES, up - start, down - up);
    size_t allowed_down = round_number == 0 && option_value("runs") ? OF_RUNS_AT_FIRST : CALLS_A_MEBIBYTE;
    CHECK(up - start <= (size_t)CALLS_A_MEBIBYTE * MEBIBYTES, "%zu system calls for %d MiB", up - start, MEBIBYTES);
    CHECK(populated * 3 <= (size_t)MEBIBYTES << 20 >> 12, "%zu calls for the pages of %d MiB", populated, MEBIBYTES);
    CHECK(down - up <= allowed_down * MEBIBYTES, "%zu system calls for %d MiB", down - up, MEBIBYTES);
    return unused;
}

int main(void) {
    require_rung();
    // The main thread's memory grows by other means.
    for (; round_number < 3; round_number++) {
        pthread_t t;
        REQUIRE(pthread_create(&t, NULL, up_and_down, NULL) == 0, "no thread");
        pthread_join(t, NULL);
    }
    check_heap("at the end");
    return check_result();
}
