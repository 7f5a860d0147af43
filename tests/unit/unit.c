#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena/arenas.h"
#include "arena/check.h"
#include "arena/heap.h"
#include "base/counter.h"
#include "cache/tcache.h"
#include "runs/space.h"

/* The library reads its options before main: start again with those of the profile `glibc`, whatever the
   environment says. */
static void start_with_known_options(void) {
    const char *set = getenv("RUNG_OPTIONS");
    if (set != NULL && strcmp(set, "profile=glibc") == 0 && getenv("GLIBC_TUNABLES") == NULL)
        return;
    unsetenv("GLIBC_TUNABLES");
    setenv("RUNG_OPTIONS", "profile=glibc", 1);
    char self_path[4096];
    ssize_t len = readlink("/proc/self/exe", self_path, sizeof self_path - 1);
    if (len > 0) {
        self_path[len] = '\0';
        execl(self_path, self_path, (char *)NULL);
    }
    perror("cannot start again with RUNG_OPTIONS=profile=glibc");
    exit(1);
}

int unit_run(const struct CMUnitTest *tests, size_t n) {
    int failed = 0;
    start_with_known_options();
    for (size_t i = 0; i < n; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
            exit(_cmocka_run_group_tests(tests[i].name, &tests[i], 1, NULL, NULL));
        int status = -1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            fprintf(stderr, "%s: failed (wait status %d)\n", tests[i].name, status);
            failed++;
        }
    }
    return failed;
}

size_t accounted_bytes(void) {
    size_t bytes = counter_get(COUNT_MAPPED_BYTES) + counter_get(COUNT_MAPPED_KEPT) +
                   counter_get(COUNT_META_MAPPED) + space_totals.system;
    struct arena *a = &main_arena;
    do {
        if (a->main)
            bytes += a->system;
        else
            for (struct heap *h = heap_of(a->top); h != NULL; h = h->prev)
                bytes += h->committed;
        a = arena_next(a);
    } while (a != &main_arena);
    return bytes;
}

void assert_sound(void) {
    assert_int_equal(rung_heap_check(), 0);
    assert_int_equal(accounted_bytes(), double_accessible());
}

size_t chunk_bytes(const void *mem) {
    return chunk_size(chunk_of_mem(mem));
}

void assume(enum option which, size_t value) {
    option_store(which, value);
}

void without_cache(void) {
    assert_true(tcache_is_inactive(self.tcache));
    assume(OPT_TCACHE_COUNT, 0);
}

void assert_dies(void (*f)(void), const char *message) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], 2);
        signal(SIGABRT, SIG_DFL);
        f();
        _exit(0);
    }
    close(ends[1]);
    char text[512] = "";
    size_t len = 0;
    ssize_t got;
    while (len < sizeof text - 1 && (got = read(ends[0], text + len, sizeof text - 1 - len)) > 0)
        len += (size_t)got;
    text[len] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        fail_msg("expected \"%s\", but the process ended with status %d and said: %s", message, status, text);
    text[strlen(message)] = '\0';
    assert_string_equal(text, message);
}

struct errand {
    void (*f)(void *);
    void *argument;
};

static void *run_errand(void *e) {
    ((struct errand *)e)->f(((struct errand *)e)->argument);
    return NULL;
}

void in_thread(void (*f)(void *), void *argument) {
    struct errand e = {f, argument};
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, run_errand, &e), 0);
    pthread_join(t, NULL);
}

void take(void **blocks, size_t n, size_t size) {
    for (size_t i = 0; i < n; i++) {
        blocks[i] = rung_malloc(size);
        assert_non_null(blocks[i]);
    }
}

void give(void **blocks, size_t n) {
    for (size_t i = 0; i < n; i++)
        rung_free(blocks[i]);
}
