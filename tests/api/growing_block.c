// FIELD 24 and row N11: a block that grows is neither there twice nor copied again and again.
#include "check.h"
#include "counters.h"
#include <time.h>

#define MIB ((size_t)1 << 20)

// One block grows by half each time to 512 MiB, all of it written to.
static void grow_by_half(void) {
    const size_t largest = 512 * MIB, mapped_from = 48 * MIB;
    unsigned char *mem = NULL;
    size_t moves = 0, steps = 0, calls = 0;
    long before = status_kib("VmRSS");
    for (size_t size = 0, next = 65536; size < largest; next = size + size / 2) {
        next = next < largest ? next : largest;
        if (size >= mapped_from) {
            calls = calls ? calls : counter("sys_mremap") + 1;
            steps++;
        }
        unsigned char *old = launder(mem);
        mem = realloc(mem, next);
        REQUIRE(mem, "no memory");
        moves += mem != old;
        for (size_t at = (size + 4095) / 4096 * 4096; at < next; at += 4096)
            mem[at] = (unsigned char)(at >> 12);
        size = next;
    }
    long peak = status_kib("VmHWM") - before;
    for (size_t at = 0; at < largest; at += 4096)
        CHECK(mem[at] == (unsigned char)(at >> 12), "byte %zu is %d", at, mem[at]);
    say("to 512 MiB: %ld MiB at the peak, %zu moves, %zu of the last %zu steps by mremap", peak >> 10, moves,
        counter("sys_mremap") + 1 - calls, steps);
    CHECK(peak < 512 * 1024 / 10 * 12, "%ld KiB at the peak", peak);
    CHECK(counter("sys_mremap") + 1 - calls == steps, "%zu calls of mremap in %zu steps",
          counter("sys_mremap") + 1 - calls, steps);
    free(mem);
    long left = status_kib("VmRSS") - before;
    CHECK(left < 64 * 1024, "%ld KiB are left", left);
}

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// A block grows by 8 bytes a time to 4 MiB. What is copied at most, and how much longer the last quarter takes
// than the first: with a copy a step it would be seven times, and take minutes.
static void append(void) {
    enum { TIMES = 5, LARGEST = 4 << 20, STEP = 8 };
    double quickest[4] = {1e9, 1e9, 1e9, 1e9};
    size_t most_copied = 0;
    for (int time = 0; time < TIMES; time++) {
        unsigned char *mem = NULL;
        size_t copied = 0, size = 0;
        for (size_t quarter = 0; quarter < 4; quarter++) {
            double begin = processor_seconds();
            for (; size < LARGEST / 4 * (quarter + 1); size += STEP) {
                unsigned char *old = launder(mem);
                mem = realloc(mem, size + STEP);
                REQUIRE(mem, "no memory");
                copied += mem != old ? size : 0;
                memcpy(mem + size, &size, STEP);
            }
            double took = processor_seconds() - begin;
            quickest[quarter] = took < quickest[quarter] ? took : quickest[quarter];
        }
        for (size_t at = 0; at < LARGEST; at += STEP)
            CHECK(memcmp(mem + at, &at, STEP) == 0, "what was written at %zu has changed", at);
        free(mem);
        most_copied = copied > most_copied ? copied : most_copied;
    }
    say("by 8 bytes to 4 MiB: at most %zu KiB copied; the quarters took %.1f, %.1f, %.1f and %.1f ms",
        most_copied >> 10, quickest[0] * 1e3, quickest[1] * 1e3, quickest[2] * 1e3, quickest[3] * 1e3);
    CHECK(most_copied < 8 * (size_t)LARGEST, "%zu KiB were copied", most_copied >> 10);
    CHECK(quickest[3] < 4 * quickest[0], "the last quarter took %.1f ms, the first one %.1f", quickest[3] * 1e3,
          quickest[0] * 1e3);
}

int main(void) {
    require_rung();
    grow_by_half();
    append();
    check_heap("at the end");
    return check_result();
}
