// Row E4: malloc_stats prints glibc's lines to standard error, and its numbers are those of
// mallinfo2.
#include "child.h"
#include <malloc.h>
#include <pthread.h>

static pthread_barrier_t ready;

static void *live_thread(void *unused) {
    void *mem = malloc(5000);
    pthread_barrier_wait(&ready);
    pause();
    free(mem);
    return unused;
}

static void print(void *unused) {
    (void)unused;
    pthread_t t;
    pthread_barrier_init(&ready, NULL, 2);
    REQUIRE(pthread_create(&t, NULL, live_thread, NULL) == 0, "no thread");
    pthread_barrier_wait(&ready);
    REQUIRE(malloc(10000) && malloc(40000000) && malloc(50000000), "no memory");
    struct mallinfo2 m = mallinfo2();
    malloc_stats();
    say("%zu %zu %zu %zu", m.arena, m.uordblks, m.hblks, m.hblkhd);
}

// A thread that is cancelled already prints all of it, and ends at the next point where it may.
static void *cancelled_thread(void *unused) {
    pthread_cancel(pthread_self());
    malloc_stats();
    pthread_testcancel();
    return unused;
}

static void print_cancelled(void *unused) {
    (void)unused;
    pthread_t t;
    void *result = NULL;
    REQUIRE(pthread_create(&t, NULL, cancelled_thread, NULL) == 0, "no thread");
    pthread_join(t, &result);
    CHECK(result == PTHREAD_CANCELED, "the thread was not cancelled");
    _exit(check_result());
}

static unsigned long number(const char **text, const char *label) {
    char line[64];
    size_t n = strlen(label);
    unsigned long value = 0;
    const char *end = strchr(*text, '\n');
    CHECK(strncmp(*text, label, n) == 0, "expected \"%s\", got \"%.40s\"", label, *text);
    if (!end)
        return 0;
    if (n < (size_t)(end - *text)) {
        value = strtoul(*text + n, NULL, 10);
        snprintf(line, sizeof line, "%s%10lu", label, value);
        CHECK(strncmp(*text, line, strlen(line)) == 0 && (*text)[strlen(line)] == '\n',
              "expected \"%s\", got \"%.40s\"", line, *text);
    }
    *text = end + 1;
    return value;
}

int main(void) {
    require_rung();
    struct outcome o;
    run_function(print, NULL, &o);
    REQUIRE(exited_with(&o, 0), "%s: %s", ending(&o), o.err);
    CHECK(!o.out[0], "malloc_stats wrote to standard output: %s", o.out);
    const char *text = o.err;
    unsigned long system = 0, used = 0;
    // With runs the second thread has no need of an arena, and what runs have is in the total alone.
    int arenas = option_value("runs") ? 1 : 2;
    for (int arena = 0; arena < arenas; arena++) {
        char title[32];
        snprintf(title, sizeof title, "Arena %d:", arena);
        number(&text, title);
        system += number(&text, "system bytes     = ");
        used += number(&text, "in use bytes     = ");
    }
    number(&text, "Total (incl. mmap):");
    unsigned long all_system = number(&text, "system bytes     = ");
    unsigned long all_used = number(&text, "in use bytes     = ");
    unsigned long max_regions = number(&text, "max mmap regions = ");
    unsigned long max_bytes = number(&text, "max mmap bytes   = ");
    size_t arena, uordblks, hblks, hblkhd;
    REQUIRE(sscanf(text, "%zu %zu %zu %zu", &arena, &uordblks, &hblks, &hblkhd) == 4, "left: %s",
            text);
    CHECK(option_value("runs") ? system <= arena && used <= uordblks
                               : system == arena && used == uordblks,
          "the arenas have %lu and %lu bytes, mallinfo2 says %zu and %zu", system, used, arena,
          uordblks);
    CHECK(all_system == arena + hblkhd && all_used == uordblks + hblkhd,
          "in total %lu and %lu bytes, mallinfo2 says %zu and %zu", all_system, all_used,
          arena + hblkhd, uordblks + hblkhd);
    CHECK(max_regions == hblks && max_bytes == hblkhd, "mapped %lu, %lu; mallinfo2 says %zu, %zu",
          max_regions, max_bytes, hblks, hblkhd);
    run_function(print_cancelled, NULL, &o);
    CHECK(exited_with(&o, 0) && strstr(o.err, "max mmap bytes   = "), "cancelled: %s: %s", ending(&o), o.err);
    return check_result();
}
