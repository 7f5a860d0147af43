/* A process to look at. Prints its own account, a figure a line, what it holds as "held", waits for a
   line on standard input, and ends. Arguments: the number of threads that keep caches; "busy": they, and
   it, never rest. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rung/rung.h"

#ifdef LINKED
#define FIND(name) name
#else
#define FIND(name) ((__typeof__(&name))dlsym(RTLD_DEFAULT, #name))
#endif

enum { BLOCKS = 3000, THREADS_MAX = 8 };

static pthread_barrier_t rested;
static volatile int busy;

/* A cache with something in it, and a block or two that stay. */
static void *idle_thread(void *unused) {
    void *mem[50];
    for (int i = 0; i < 50; i++)
        mem[i] = malloc(300);
    for (int i = 2; i < 50; i++)
        free(mem[i]);
    pthread_barrier_wait(&rested);
    while (busy)
        free(malloc(20000));
    pause();
    return unused;
}

static size_t taken_by(void *mem, int runs) {
    size_t usable = malloc_usable_size(mem);
    return runs ? usable : usable + sizeof(size_t);
}

static void print_account(size_t held, size_t live_before) {
    struct rung_stats s;
    FIND(rung_stats)(&s);
    printf("held %zu\nlive_before %zu\n", held, live_before);
#define FIGURE(id, unit, help) printf(#id " %zu\n", s.id);
#include "report/figures.def"
#undef FIGURE
    puts("end");
}

int main(int argc, char **argv) {
    static void *block[BLOCKS];
    int threads = argc > 1 ? atoi(argv[1]) : 0;
    busy = argc > 2 && strcmp(argv[2], "busy") == 0;
    if (threads > THREADS_MAX)
        return 2;
    int runs = FIND(rung_option)("runs") != 0;
    static char text[4096]; /* all of it is there before the account is */
    memset(text, 1, sizeof text);
    setvbuf(stdout, text, _IOFBF, sizeof text);
    pthread_barrier_init(&rested, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, idle_thread, NULL) != 0)
            return 2;
    }
    pthread_barrier_wait(&rested);
    struct rung_stats before;
    free(malloc(1));
    FIND(rung_stats)(&before);
    size_t held = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t size = i % 100 == 0 ? 50000 : i % 1000;
        block[i] = malloc(size);
        memset(block[i], 1, size);
    }
    for (size_t i = 0; i < BLOCKS; i += 2)
        free(block[i]);
    for (size_t i = 1; i < BLOCKS; i += 2)
        held += taken_by(block[i], runs);
    void *mapped = malloc((size_t)64 << 20);
    print_account(held, before.live);
    fflush(stdout);
    while (busy)
        free(malloc(20000));
    char line[8];
    if (read(STDIN_FILENO, line, sizeof line) < 0)
        return 1;
    free(mapped);
    return 0;
}
