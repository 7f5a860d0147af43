// malloc_trim, which every program may call whatever allocator is under it, and whether its answer is true.
#pragma once
#include <malloc.h>
#include "moments.h"

// Exact, unlike resident_kib(): the kernel counts pages a processor at a time and adds up late.
static inline double resident_exactly_kib(void) {
    char text[2048] = "";
    int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0) {
        close(file);
    }
    const char *at = length > 0 ? strstr(text, "\nRss:") : NULL;
    return at ? strtod(at + 5, NULL) : resident_kib();
}

// 1 unless malloc_trim claimed to have released memory and none is gone.
static inline int trim_is_true(void) {
    double before = resident_exactly_kib();
    int claimed = malloc_trim(0);
    return !claimed || resident_exactly_kib() < before;
}

// Twice, as the second time there should be nothing left to claim.
static inline void trim(void) {
    phase("trim");
    int first = trim_is_true();
    moment("trimmed");
    figure("untrue", 2 - first - trim_is_true());
}
