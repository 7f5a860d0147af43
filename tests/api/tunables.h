// Runs this very program again with a given environment and one probe, and compares what the probe
// saw.
#ifndef TESTS_API_TUNABLES_H
#define TESTS_API_TUNABLES_H

#include "child.h"
#include "probe.h"

#define DEFAULT_GROWTH 135168 // the first malloc(16), with 128 KiB of padding
#define NO_PAD 4096           // with none
#define BIG_PAD 1052672       // with 1 MiB

static inline const char *inherited(const char *name) {
    const char *value = getenv(name);
    static char line[4][4096];
    static int n;
    if (!value)
        return NULL;
    char *text = line[n++ % 4];
    snprintf(text, sizeof line[0], "%s=%s", name, value);
    return text;
}

// Only what makes the library load is passed on; the rest of the environment is the case's own.
static inline void run_with(const char *const *extra, const char *probe, struct outcome *o) {
    const char *env[16];
    size_t n = 0;
    bool options_given = false;
    for (size_t i = 0; extra[i]; i++) {
        REQUIRE(n < 12, "too many variables in a case");
        env[n++] = extra[i];
        options_given = options_given || strncmp(extra[i], "RUNG_OPTIONS=", 13) == 0;
    }
    static const char *const always[] = {"LD_PRELOAD", "RUNG_TEST_HOST_MALLOC"};
    for (size_t i = 0; i < 2; i++)
        if ((env[n] = inherited(always[i])) != NULL)
            n++;
    if (!options_given && (env[n] = inherited("RUNG_OPTIONS")) != NULL)
        n++;
    env[n] = NULL;
    char *const argv[] = {(char[]){"/proc/self/exe"}, (char[]){"probe"}, strdupa(probe), NULL};
    struct child_job job = {NULL, NULL, argv, (char *const *)(uintptr_t)env};
    run_child(&job, o);
}

static inline void expect_probe(const char *what, const char *const *extra, const char *probe,
                                size_t want) {
    struct outcome o;
    run_with(extra, probe, &o);
    CHECK(exited_with(&o, 0), "%.300s: %s: %.300s", what, ending(&o), o.err);
    char text[32];
    snprintf(text, sizeof text, "%zu\n", want);
    CHECK(strcmp(o.out, text) == 0, "%.300s: %s shows %.20s, not %zu", what, probe, o.out, want);
}

// The main program of a test hands over to this first.
static inline void probe_if_asked(int argc, char **argv) {
    if (argc != 3 || strcmp(argv[1], "probe") != 0)
        return;
    require_rung();
    char text[32];
    size_t n = (size_t)snprintf(text, sizeof text, "%zu\n", run_probe(argv[2]));
    check_heap("after the probe");
    if (write(STDOUT_FILENO, text, n) != (ssize_t)n)
        _exit(1);
    _exit(check_result());
}

#endif
