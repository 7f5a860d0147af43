// Row E5: each corruption message, provoked by a misuse. A case runs in a process of its own, once
// in the main thread and once in a second one (another arena), and must end with SIGABRT and the
// exact text as the first line of standard error. Lines after it may name the object; they begin
// with "rung: ".
//
//   chunk in use                          chunk in a bin
//   word -2  previous chunk's size        word -2  (if the previous chunk is free)
//   word -1  size | flags                 word -1  size | flags
//   word  0  <- the user's pointer        word  0  fd           (in a cache: the mangled next)
//   ...                                   word  1  bk           (in a cache: the key)
//                                         word  2  fd_nextsize  (large chunks in a sorted bin)
//                                         word  3  bk_nextsize
//   following word -2 belongs to this     following word -2 repeats the size
#ifndef TESTS_API_CORRUPT_H
#define TESTS_API_CORRUPT_H

#include "child.h"
#include <malloc.h>
#include <pthread.h>

enum {
    MAIN_ONLY = 1,   // the check exists in the main arena only
    THREAD_ONLY = 2, // the misuse shows when a thread ends
    SINCE_2_42 = 4,  // older releases of the host's malloc say something else
};

struct misuse {
    const char *name;
    void (*run)(void);
    const char *message;
    unsigned flags;
};

// A request no cache takes, and the smallest one, to keep neighbours apart.
enum { LARGE = 2000, GUARD = 24 };

// A place for corrupted links to point to; it holds nothing but zeroes.
static size_t nowhere[64] __attribute__((aligned(64), unused));

static inline size_t *words(void *mem) {
    return launder(mem);
}

static inline void *following(void *mem) {
    return (char *)mem + chunk_size(mem);
}

static inline size_t *following_size(void *mem) {
    return size_field(following(mem));
}

// The word in which a free chunk repeats its size; the following chunk knows it as the size of its
// predecessor.
static inline size_t *foot(void *mem) {
    return words(following(mem)) - 2;
}

// Gets `n` blocks that lie one behind the other. Blocks that came from elsewhere are kept, so that
// they cannot come again.
static inline void place(void **mem, const size_t *request, int n) {
    for (int attempt = 0; attempt < 500; attempt++) {
        bool in_a_row = true;
        for (int i = 0; i < n; i++) {
            mem[i] = malloc(request[i]);
            REQUIRE(mem[i], "no memory");
            memset(mem[i], 0, malloc_usable_size(mem[i]));
            in_a_row = in_a_row && (i == 0 || mem[i] == following(mem[i - 1]));
        }
        if (in_a_row)
            return;
    }
    REQUIRE(false, "never got %d blocks in a row", n);
}

#define PLACE(mem, ...)                                                                            \
    void *mem[sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)];                                   \
    place(mem, (size_t[]){__VA_ARGS__}, (int)(sizeof mem / sizeof *mem))

// A request larger than all that was freed before: it sorts the unsorted chunks on its way to top.
static inline void sort_bins(void) {
    REQUIRE(malloc(20000), "no memory");
}

// Safe-linking: what a cache stores for `next` in the word at `slot`.
static inline size_t mangle(void *slot, void *next) {
    return ((size_t)slot >> 12) ^ (size_t)next;
}

static inline void *run_in_thread(void *run) {
    free(malloc(40)); // the thread gets its arena and its cache
    ((const struct misuse *)run)->run();
    return NULL;
}

static inline void misuse_in_main(void *m) {
    ((const struct misuse *)m)->run();
    say("the misuse went unnoticed");
}

static inline void misuse_in_thread(void *m) {
    pthread_t t;
    REQUIRE(pthread_create(&t, NULL, run_in_thread, m) == 0, "no thread");
    pthread_join(t, NULL);
    say("the misuse went unnoticed");
}

static inline void expect_message(const struct misuse *m, const char *where,
                                  const struct outcome *o) {
    CHECK(killed_by(o, SIGABRT), "%s (%s): %s, not SIGABRT", m->name, where, ending(o));
    size_t n = strlen(m->message);
    CHECK(strncmp(o->err, m->message, n) == 0 && o->err[n] == '\n',
          "%s (%s): standard error is \"%.200s\", not \"%s\"", m->name, where, o->err, m->message);
    const char *line = strchr(o->err, '\n');
    while (line && line[1]) {
        CHECK(strncmp(line + 1, "rung: ", 6) == 0, "%s (%s): a further line is \"%.100s\"", m->name,
              where, line + 1);
        line = strchr(line + 1, '\n');
    }
}

static inline int run_misuses(const struct misuse *cases, size_t n) {
    require_rung();
    for (size_t i = 0; i < n; i++) {
        struct misuse m = cases[i];
        struct outcome o;
        if (on_host_malloc() && (m.flags & SINCE_2_42))
            continue;
        if (!(m.flags & THREAD_ONLY)) {
            run_function(misuse_in_main, &m, &o);
            expect_message(&m, "main thread", &o);
        }
        if (!(m.flags & MAIN_ONLY)) {
            run_function(misuse_in_thread, &m, &o);
            expect_message(&m, "second thread", &o);
        }
    }
    say("%zu misuses", n);
    return check_result();
}

#define RUN_MISUSES(cases) run_misuses(cases, sizeof cases / sizeof *cases)

#endif
