// Large blocks that come and go: in the profile `default` they cost neither system calls nor page
// faults once the program has shown that it wants them again, what exceeds the allowance goes back
// at once, and what waited in vain goes back later (row N4).
#include "check.h"
#include "counters.h"
#include <malloc.h>
#include <sys/resource.h>

#define MIB ((size_t)1 << 20)

static long page_faults(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_minflt;
}

static unsigned char *touched(size_t size) {
    unsigned char *mem = malloc(size);
    REQUIRE(mem, "no memory");
    for (size_t i = 0; i < size; i += 4096)
        mem[i] = 1;
    return mem;
}

static size_t system_calls(void) {
    static const char *const names[] = {"sys_brk",      "sys_mmap",    "sys_munmap",
                                        "sys_mprotect", "sys_madvise", "sys_mremap"};
    size_t sum = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        sum += counter(names[i]);
    return sum;
}

static void steady_churn(size_t size, int at_a_time) {
    unsigned char *mem[8];
    size_t calls = 0;
    long faults = 0;
    for (int round = 0; round < 40; round++) {
        if (round == 5) {
            calls = system_calls();
            faults = page_faults();
        }
        for (int i = 0; i < at_a_time; i++)
            mem[i] = touched(size);
        for (int i = 0; i < at_a_time; i++)
            free(mem[i]);
    }
    calls = system_calls() - calls;
    faults = page_faults() - faults;
    say("%zu MiB, %d at a time: %zu system calls and %ld page faults in 35 rounds", size / MIB,
        at_a_time, calls, faults);
    // The machine may take a pause between two rounds that is longer than what waits will wait:
    // once or twice, but not each time.
    CHECK(calls <= 4 * (size_t)at_a_time, "%zu system calls", calls);
    CHECK(faults < (long)(3 * size / 4096) * at_a_time, "%ld page faults", faults);
}

static void burst(void) {
    unsigned char *mem[6];
    malloc_trim(0);
    long before = status_kib("VmRSS");
    for (int i = 0; i < 6; i++)
        mem[i] = touched(50 * MIB);
    for (int i = 0; i < 6; i++)
        free(mem[i]);
    long left = status_kib("VmRSS") - before;
    CHECK(left < 2 * 1024, "%ld KiB are left of a burst of 300 MiB", left);
}

// What waits when the program turns to something else goes with the calls that follow.
static void age(void) {
    for (int i = 0; i < 4; i++)
        free(touched(48 * MIB));
    CHECK(counter("mapped_kept") >= 48 * MIB, "nothing waits for reuse");
    usleep(1200 * 1000);
    free(malloc(200000));
    free(malloc(40 * MIB)); // is mapped: comes past what waits
    CHECK(counter("mapped_kept") <= 41 * MIB, "%zu bytes still wait", counter("mapped_kept"));
}

int main(void) {
    require_rung();
    burst(); // before anything has been learned
    steady_churn(40 * MIB, 1);
    steady_churn(36 * MIB, 4);
    age();
    check_heap("at the end");
    return check_result();
}
