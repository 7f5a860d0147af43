// enlarge [SCALE]
//
// Stands for vectors and string builders at their worst: one block grows by half each time until it has 512 MiB, all
// of it written to; then, ten times, one grows by 8 bytes a time to 4 MiB, which must not cost more and more a step.
#include "moments.h"

#define LARGEST ((size_t)512 << 20)
enum { APPENDED = 4 << 20, STEP = 8, FIRST = 1 << 16, TIMES = 10 };

static uint64_t enlarge(size_t largest) {
    char *mem = NULL;
    for (size_t size = 0, next = FIRST; size < largest; next = size + size / 2) {
        next = next < largest ? next : largest;
        mem = need(realloc(mem, next));
        for (size_t at = size; at < next; at += 4096) {
            mem[at] = (char)(at >> 12);
        }
        size = next;
    }
    moment("enlarged");
    uint64_t sum = (uint64_t)(unsigned char)mem[largest / 8192 * 4096];
    free(mem);
    return sum;
}

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Adds the processor time that each quarter took.
static uint64_t append(size_t largest, double quarter[4]) {
    char *mem = NULL;
    for (size_t size = 0, at = 0; at < 4; at++) {
        double begin = processor_seconds();
        for (; size < largest / 4 * (at + 1); size += STEP) {
            mem = need(realloc(mem, size + STEP));
            memcpy(mem + size, &size, STEP);
        }
        quarter[at] += processor_seconds() - begin;
    }
    uint64_t sum;
    memcpy(&sum, mem + largest / 2, sizeof sum);
    free(mem);
    return sum;
}

int main(int argc, char **argv) {
    start(argc, argv, 1);
    size_t largest = scaled(LARGEST, argc, argv, 1);
    largest = largest > LARGEST ? LARGEST : largest;
    phase("enlarge");
    uint64_t sum = enlarge(largest);
    figure("largest", (double)largest / 1024);
    moment("freed");
    phase("append");
    double quarter[4] = {0};
    for (size_t i = 0; i < TIMES; i++) {
        sum = sum * 31 + append(APPENDED, quarter);
    }
    figure("last_to_first_quarter", quarter[3] / quarter[0]);
    return end(sum);
}
