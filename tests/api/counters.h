// The library's own counters, for tests that run under LD_PRELOAD.
#ifndef TESTS_API_COUNTERS_H
#define TESTS_API_COUNTERS_H

#include "check.h"

static inline size_t counter(const char *name) {
    static size_t (*ask)(const char *);
    if (!ask)
        *(void **)&ask = dlsym(RTLD_DEFAULT, "rung_counter");
    REQUIRE(ask, "the library exports no rung_counter");
    return ask(name);
}

#endif
