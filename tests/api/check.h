// What every program under tests/api and tests/fork shares: assertions that report and go on, skips
// that say why, and the question "whose malloc am I running on?", because a test of the wrong
// allocator proves nothing.
#ifndef TESTS_API_CHECK_H
#define TESTS_API_CHECK_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check_failures;

// Writes without stdio: a report must come out even while a stream lock or the heap is what is
// being tested.
__attribute__((format(printf, 1, 2), unused)) static void say(const char *fmt, ...) {
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line - 1, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    size_t len = (size_t)n < sizeof line - 1 ? (size_t)n : sizeof line - 2;
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0)
        _exit(1);
}

// Every failed check is reported; the first 20 are enough to see a pattern.
#define CHECK(cond, ...)                                                                           \
    do {                                                                                           \
        if (!(cond) && ++check_failures <= 20) {                                                   \
            say("%s:%d: failed: %s", __FILE__, __LINE__, #cond);                                   \
            say("    " __VA_ARGS__);                                                               \
        }                                                                                          \
    } while (0)

// For conditions without which the rest of the program makes no sense.
#define REQUIRE(cond, ...)                                                                         \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            say("%s:%d: cannot go on: %s", __FILE__, __LINE__, #cond);                             \
            say("    " __VA_ARGS__);                                                               \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#define SKIP(...)                                                                                  \
    do {                                                                                           \
        say("skipped: " __VA_ARGS__);                                                              \
        _exit(77);                                                                                 \
    } while (0)

__attribute__((unused)) static int check_result(void) {
    if (check_failures)
        say("%d checks failed", check_failures);
    return check_failures ? 1 : 0;
}

// With RUNG_TEST_HOST_MALLOC=1 the programs accept the system's own malloc: this is how the tests
// themselves are tried out. Checks that only newer rules satisfy are left out then.
__attribute__((unused)) static bool on_host_malloc(void) {
    const char *v = getenv("RUNG_TEST_HOST_MALLOC");
    return v && strcmp(v, "1") == 0;
}

// Does the process-wide `name` come from librung.so?
__attribute__((unused)) static bool comes_from_rung(const char *name) {
    Dl_info info;
    void *f = dlsym(RTLD_DEFAULT, name);
    return f && dladdr(f, &info) && info.dli_fname && strstr(info.dli_fname, "librung");
}

__attribute__((unused)) static void require_rung(void) {
    if (!on_host_malloc())
        REQUIRE(comes_from_rung("malloc"),
                "malloc is not Rung's: run this program with LD_PRELOAD=.../librung.so");
}

// The library's own whole-heap check, where it is exported: 0 means valid.
__attribute__((unused)) static void check_heap(const char *when) {
    int (*heap_check)(void) = NULL;
    void *f = dlsym(RTLD_DEFAULT, "rung_heap_check");
    memcpy(&heap_check, &f, sizeof f);
    if (heap_check)
        CHECK(heap_check() == 0, "rung_heap_check() found a broken heap %s", when);
}

// A program with the static library has it by this name, any other one asks the loader.
#ifdef __cplusplus
extern "C"
#endif
size_t rung_option(const char *name) __attribute__((weak));

// The value of an option in this process; 0 on the system's malloc, which has none.
__attribute__((unused)) static size_t option_value(const char *name) {
    size_t (*option)(const char *) = rung_option;
    void *f = dlsym(RTLD_DEFAULT, "rung_option");
    if (f)
        memcpy(&option, &f, sizeof f);
    return option ? option(name) : 0;
}

// With RUNG_TEST_SHARE=n a test that repeats something makes an nth of its rounds.
__attribute__((unused)) static int share_of(int rounds) {
    const char *v = getenv("RUNG_TEST_SHARE");
    int share = v ? atoi(v) : 1;
    REQUIRE(share >= 1, "RUNG_TEST_SHARE=%s: a number from 1 up is asked for", v);
    return rounds / share > 1 ? rounds / share : 1;
}

// Hides where a pointer or a number came from. The headers promise the compiler that malloc's
// pointers are aligned and that no two are the same: with those promises it may decide a check of
// ours by itself, or warn of a deliberate misuse.
__attribute__((unused)) static void *launder(void *p) {
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((unused)) static size_t opaque(size_t n) {
    __asm__ volatile("" : "+r"(n));
    return n;
}

// The chunk header as DESIGN row A1 lays it out: the word before the payload is the chunk's size
// with three flags.
enum { PREV_INUSE = 1, IS_MMAPPED = 2, NON_MAIN_ARENA = 4, FLAG_BITS = 7 };

__attribute__((unused)) static size_t *size_field(void *mem) {
    return (size_t *)launder(mem) - 1;
}

__attribute__((unused)) static size_t chunk_size(void *mem) {
    return *size_field(mem) & ~(size_t)FLAG_BITS;
}

__attribute__((unused)) static bool is_mapped(void *mem) {
    return (*size_field(mem) & IS_MMAPPED) != 0;
}

// Is a block of this usable size in a window of runs, where blocks have no header?
__attribute__((unused)) static bool without_header(size_t usable) {
    size_t largest = option_value("run_block_max");
    return option_value("runs") && usable <= (largest > 32768 ? largest : 32768);
}

// A small generator of our own, so that a printed seed means the same everywhere.
__attribute__((unused)) static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

__attribute__((unused)) static uint64_t seed_from_environment(uint64_t fallback) {
    const char *v = getenv("RUNG_TEST_SEED");
    uint64_t seed = v ? strtoull(v, NULL, 0) : fallback;
    say("seed %llu (set RUNG_TEST_SEED to change it)", (unsigned long long)seed);
    return seed;
}

// One line "Name:  123 kB" of /proc/self/status, read without the heap.
__attribute__((unused)) static long status_kib(const char *name) {
    static char text[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0, "cannot open /proc/self/status: mount /proc");
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    REQUIRE(n > 0, "/proc/self/status is empty");
    text[n] = 0;
    for (char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t len = strlen(name);
        if (strncmp(line, name, len) == 0 && line[len] == ':')
            return strtol(line + len + 1, NULL, 10);
    }
    REQUIRE(false, "no %s in /proc/self/status", name);
    return 0;
}

#endif
