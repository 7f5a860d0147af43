/* Random calls of the whole interface in 1 to 8 threads.
 *
 *   model CONFIGURATION [SEED]
 *
 * Every block carries a pattern that is verified before it is resized or freed; threads exchange blocks, end and
 * are followed by others; between stretches of calls all stand still while the blocks are checked for overlaps
 * and the heap is walked.  With a SEED only that one is run; without, one after another until the time is up,
 * each in a process of its own, since options are read at its start. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/names.h"
#include "record.h"
#include "rung/rung.h"
#ifdef WITH_DOUBLE
#include "double.h"
#endif

static const char *configuration;
static uint64_t seed;

void wrong(const char *what, const struct block *b, size_t at) {
    fprintf(stderr, "model: %s: block %p of %zu bytes (usable %zu, align %zu), at %zu\n", what,
            (const void *)b->p, b->size, b->usable, b->align, at);
    fprintf(stderr, "run it again with: model %s %llu\n", configuration, (unsigned long long)seed);
    abort();
}

/* ---- configurations ---- */

struct configuration {
    const char *name;
    const char *options;
};

static const struct configuration configurations[] = {
    {"glibc", ""},
    {"default", ",profile=default"},
    {"tcache_0", ",tcache_count=0"},
    {"tcache_1", ",tcache_count=1"},
    {"tcache_max", ",tcache_max=4194304"},
    {"arena_max_1", ",arena_max=1"},
    {"arena_max_2", ",arena_max=2"},
    {"on_demand", ",arena_on_demand=1,arena_max=4"},
    {"mmap_threshold", ",mmap_threshold=4096"},
    {"top_pad_0", ",top_pad=0"},
    {"trim_threshold_0", ",trim_threshold=0,top_pad=0"},
    {"perturb", ",perturb=90"},
    {"unsorted_limit", ",tcache_unsorted_limit=3"},
    {"thp", ",hugetlb=1"},
    {"map_keep", ",map_keep=4194304,mmap_threshold=100000,purge_delay=1000"},
    {"arena_keep", ",arena_keep=1,purge_delay=1,top_step=65536"},
    {"arena_keep_delay", ",arena_keep=1048576,purge_delay=20,top_step=1048576,map_keep=1048576,threshold_decay=50"},
    {"threshold_decay", ",map_keep=1048576,purge_delay=100,threshold_decay=1"},
    {"map_keep_brief", ",map_keep=65536,mmap_threshold=65536,purge_delay=1"},
    {"runs", ",runs=1,run_block_max=32m,purge_delay=1000"},
    {"runs_shallow", ",runs=1,tcache_count=2,tcache_depth_max=2,run_keep=0,depot_bytes=65536,purge_delay=1"},
    {"runs_alone", ",runs=1,run_block_max=0"},
    {"runs_purge", ",runs=1,run_block_max=32m,run_keep=0,purge_delay=1,run_huge_from=1,tcache_count=2"},
};
enum { CONFIGURATIONS = sizeof configurations / sizeof configurations[0] };

static bool set_options(const char *name, uint64_t state, char *text, size_t cap) {
    snprintf(text, cap, "profile=glibc");
    bool found = strcmp(name, "mixed") == 0;
    if (found) /* three of them together */
        for (int i = 0; i < 3; i++)
            strncat(text, configurations[random_below(&state, CONFIGURATIONS)].options, cap - strlen(text) - 1);
    for (size_t i = 0; i < CONFIGURATIONS; i++)
        if (strcmp(name, configurations[i].name) == 0) {
            found = true;
            strncat(text, configurations[i].options, cap - strlen(text) - 1);
        }
    return found;
}

/* ---- one process ---- */

enum { MOST_THREADS = 8, SLOTS = 300, SHARED = 64, STRETCHES = 4, ROUNDS = 3 };

struct worker {
    uint64_t random;
    struct block slot[SLOTS];
    size_t calls; /* a stretch */
};

static struct worker workers[MOST_THREADS];
static size_t worker_count;
static pthread_barrier_t together;

/* Blocks change hands here: a busy flag each, so that only those who meet at one are ordered. */
static struct exchange {
    _Atomic bool busy;
    struct block block;
} shared[SHARED];

static size_t perturb;

/* Mostly small, now and then large enough for the mmap threshold. */
static size_t random_size(uint64_t *state) {
    size_t kind = random_below(state, 1000);
    if (kind < 10)
        return 0;
    if (kind < 600)
        return random_below(state, 200);
    if (kind < 850)
        return random_below(state, 2500);
    if (kind < 980)
        return random_below(state, 40000);
    if (kind < 998)
        return random_below(state, 400000);
    return random_below(state, 3000000);
}

static size_t random_align(uint64_t *state) {
    return (size_t)1 << random_below(state, random_below(state, 8) == 0 ? 20 : 13);
}

static void check_new(const struct block *b) {
    if (b->p == NULL)
        wrong("no memory", b, 0);
    if ((uintptr_t)b->p % b->align != 0)
        wrong("a block is not aligned", b, 0);
    if (b->usable < b->size)
        wrong("a block is too small", b, 0);
    if (rung_memalignment(b->p) < b->align)
        wrong("memalignment is less than was asked for", b, 0);
}

/* ---- the calls ---- */

static void adopt(struct worker *w, struct block *b, void *p, size_t size, size_t align) {
    *b = (struct block){p, size, rung_malloc_usable_size(p), align, (uint32_t)random_next(&w->random)};
    check_new(b);
    block_fill(b);
}

static void do_malloc(struct worker *w, struct block *b) {
    size_t size = random_size(&w->random);
    unsigned char *p = rung_malloc(size);
    if (perturb != 0 && p != NULL)
        for (size_t i = 0; i < size && i < 5000; i++)
            if (p[i] != (unsigned char)~perturb)
                wrong("a new block is not filled", &(struct block){.p = p, .size = size}, i);
    adopt(w, b, p, size, 16);
}

static void do_calloc(struct worker *w, struct block *b) {
    size_t size = random_size(&w->random), n = 1 + random_below(&w->random, 8);
    unsigned char *p = rung_calloc(n, size / n);
    size = size / n * n;
    for (size_t i = 0; p != NULL && i < size; i++)
        if (p[i] != 0)
            wrong("memory of calloc is not zero", &(struct block){.p = p, .size = size}, i);
    adopt(w, b, p, size, 16);
}

static void do_aligned(struct worker *w, struct block *b) {
    size_t size = random_size(&w->random), align = random_align(&w->random);
    void *p = NULL;
    switch (random_below(&w->random, 5)) {
    case 0:
        p = rung_memalign(align, size);
        break;
    case 1:
        p = rung_aligned_alloc(align, size);
        break;
    case 2:
        align = align < sizeof(void *) ? sizeof(void *) : align;
        if (rung_posix_memalign(&p, align, size) != 0)
            wrong("posix_memalign failed", b, 0);
        break;
    case 3:
        align = (size_t)sysconf(_SC_PAGESIZE);
        p = rung_valloc(size);
        break;
    case 4:
        align = (size_t)sysconf(_SC_PAGESIZE);
        p = rung_pvalloc(size);
        size = (size + align - 1) / align * align;
        break;
    }
    adopt(w, b, p, size, align < 16 ? 16 : align);
}

static void do_free(struct worker *w, struct block *b) {
    block_verify(b, b->usable);
    if (rung_malloc_usable_size(b->p) != b->usable)
        wrong("the usable size has changed", b, rung_malloc_usable_size(b->p));
    int saved = errno = (int)random_below(&w->random, 100);
    switch (random_below(&w->random, 8)) {
    case 0:
        rung_free_sized(b->p, b->size);
        break;
    case 1:
        rung_free_aligned_sized(b->p, b->align, b->size);
        break;
    default:
        rung_free(b->p);
    }
    if (errno != saved)
        wrong("free changed errno", b, (size_t)errno);
    b->p = NULL;
}

static void do_realloc(struct worker *w, struct block *b) {
    size_t size = random_size(&w->random) + 1;
    if (random_below(&w->random, 3) == 0) /* close to what it has */
        size = b->size + random_below(&w->random, 64) + 1;
    block_verify(b, b->usable);
    struct block was = *b;
    bool array = random_below(&w->random, 4) == 0;
    void *p = array ? rung_reallocarray(b->p, size, 1) : rung_realloc(b->p, size);
    if (p == NULL)
        wrong("realloc failed", b, size);
    size_t usable = rung_malloc_usable_size(p);
    *b = (struct block){p, size, usable, 16, was.pattern};
    check_new(b);
    if (was.usable >= size && (was.usable == usable || was.usable - size < 16) && p != was.p)
        wrong("realloc within the usable size moved", &was, size);
    /* The pattern depends on the offset alone, but for which samples of a large block there are. */
    struct block carried = was;
    carried.p = p;
    block_verify(&carried, was.size < size ? was.size : size);
    b->pattern = (uint32_t)random_next(&w->random);
    block_fill(b);
}

static void do_exchange(struct worker *w, struct block *b) {
    struct exchange *e = &shared[random_below(&w->random, SHARED)];
    if (atomic_exchange_explicit(&e->busy, true, memory_order_acquire))
        return;
    struct block theirs = e->block;
    e->block = *b;
    *b = theirs;
    atomic_store_explicit(&e->busy, false, memory_order_release);
}

static void expect_refusal(void *p, const char *what) {
    if (p != NULL || errno != ENOMEM)
        wrong(what, &(struct block){.p = p}, (size_t)errno);
    errno = 0;
}

static void do_impossible(struct worker *w, struct block *b) {
    errno = 0;
    size_t huge = (size_t)PTRDIFF_MAX + 1 + random_below(&w->random, (size_t)1 << 30);
    expect_refusal(rung_malloc(huge), "malloc of half the address space");
    expect_refusal(rung_calloc(huge, 16), "calloc of more than there is");
    expect_refusal(rung_memalign(64, huge), "memalign of half the address space");
    if (b->p != NULL) {
        expect_refusal(rung_realloc(b->p, huge), "realloc to half the address space");
        expect_refusal(rung_reallocarray(b->p, huge, 32), "reallocarray of more than there is");
        block_verify(b, b->usable);
    }
    rung_free(NULL);
    if (rung_malloc_usable_size(NULL) != 0)
        wrong("the usable size of nothing", b, 0);
}

static void do_ask(struct worker *w) {
    struct mallinfo2 m;
    char text[64];
    FILE *f;
    switch (random_below(&w->random, 4)) {
    case 0:
        rung_malloc_trim(random_below(&w->random, 200000));
        break;
    case 1:
        m = rung_mallinfo2();
        if (m.uordblks + m.fordblks != m.arena || m.keepcost > m.fordblks)
            wrong("mallinfo2 does not add up", &(struct block){.size = m.arena, .usable = m.fordblks}, m.uordblks);
        break;
    case 2:
        f = fopen("/dev/null", "w");
        if (f != NULL) {
            if (rung_malloc_info(0, f) != 0)
                wrong("malloc_info failed", &(struct block){0}, 0);
            fclose(f);
        }
        break;
    case 3: /* knows no such thing, and says yes */
        snprintf(text, sizeof text, "%d", rung_mallopt(M_MXFAST, 64));
        if (strcmp(text, "1") != 0)
            wrong("mallopt said no", &(struct block){0}, 0);
        break;
    }
}

static void one_call(struct worker *w) {
    struct block *b = &w->slot[random_below(&w->random, SLOTS)];
    size_t what = random_below(&w->random, 1000);
    if (what < 60) {
        do_exchange(w, b);
    } else if (what < 62) {
        do_impossible(w, b);
    } else if (what < 64) {
        do_ask(w);
    } else if (b->p != NULL) {
        if (what < 300)
            do_realloc(w, b);
        else
            do_free(w, b);
    } else if (what < 150) {
        do_aligned(w, b);
    } else if (what < 350) {
        do_calloc(w, b);
    } else {
        do_malloc(w, b);
    }
}

/* Phases in which only a few sizes are asked for, so that bins and caches fill and run empty. */
static void burst(struct worker *w) {
    enum { N = 120 };
    struct block b[N];
    size_t size = random_size(&w->random) % 5000, n = random_below(&w->random, N);
    for (size_t i = 0; i < n; i++)
        adopt(w, &b[i], rung_malloc(size), size, 16);
    size_t step = 1 + 2 * random_below(&w->random, 20), at = 0;
    for (size_t i = 0; i < n; i++) { /* in some other order */
        while (b[at % n].p == NULL)
            at++;
        do_free(w, &b[at % n]);
        at += step;
    }
}

/* ---- all stand still ---- */

static void check_everything(void) {
    static struct block all[MOST_THREADS * SLOTS + SHARED];
    size_t n = 0;
    for (size_t i = 0; i < worker_count; i++)
        for (size_t k = 0; k < SLOTS; k++)
            if (workers[i].slot[k].p != NULL)
                all[n++] = workers[i].slot[k];
    for (size_t i = 0; i < SHARED; i++)
        if (shared[i].block.p != NULL)
            all[n++] = shared[i].block;
    blocks_apart(all, n);
    if (rung_heap_check() != 0)
        wrong("the heap is not sound", &(struct block){0}, 0);
}

static void *work(void *me) {
    struct worker *w = me;
    for (int stretch = 0; stretch < STRETCHES; stretch++) {
        for (size_t i = 0; i < w->calls; i++) {
            if (i % 512 == 500)
                burst(w);
            one_call(w);
        }
        if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD)
            check_everything();
        pthread_barrier_wait(&together);
    }
    return NULL;
}

static void run_seed(void) {
    uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
    perturb = rung_option("perturb");
    worker_count = 1 + random_below(&state, MOST_THREADS);
    pthread_barrier_init(&together, NULL, (unsigned)worker_count);
    for (size_t i = 0; i < worker_count; i++) {
        workers[i].random = random_next(&state) | 1;
        workers[i].calls = 12000 / ROUNDS / STRETCHES / worker_count;
    }
    /* Other threads every time take over where those before them ended.  In the first round of some seeds the
       process has one thread only. */
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[MOST_THREADS];
        if (round == 0 && worker_count == 1) {
            work(&workers[0]);
            continue;
        }
        for (size_t i = 0; i < worker_count; i++)
            if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
                wrong("no thread", &(struct block){0}, i);
        for (size_t i = 0; i < worker_count; i++)
            pthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < SHARED; i++)
        if (shared[i].block.p != NULL)
            do_free(&workers[0], &shared[i].block);
    for (size_t i = 0; i < worker_count; i++)
        for (size_t k = 0; k < SLOTS; k++)
            if (workers[i].slot[k].p != NULL)
                do_free(&workers[0], &workers[i].slot[k]);
    check_everything();
    rung_malloc_trim(0);
    if (rung_heap_check() != 0)
        wrong("the heap is not sound in the end", &(struct block){0}, 0);
}

/* ---- one process after another ---- */

static int run_in_process(const char *program, uint64_t which) {
    char text[32], options[512];
    snprintf(text, sizeof text, "%llu", (unsigned long long)which);
    set_options(configuration, which * 77 + 5, options, sizeof options);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("RUNG_OPTIONS", options, 1);
        unsetenv("GLIBC_TUNABLES");
        setenv("RUNG_MODEL_CHILD", "1", 1);
        alarm(300); /* a hang is a failure */
        execl(program, program, configuration, text, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    if (status != 0)
        fprintf(stderr, "model: failed, wait status 0x%x: RUNG_OPTIONS=%s; run it again with: model %s %s\n",
                (unsigned)status, options, configuration, text);
    return status;
}

static double number_from(const char *variable, double otherwise) {
    const char *text = getenv(variable);
    return text != NULL && text[0] != '\0' ? strtod(text, NULL) : otherwise;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    char options[512];
    configuration = argc > 1 ? argv[1] : "mixed";
    if (argc > 3 || !set_options(configuration, 1, options, sizeof options)) {
        fprintf(stderr, "usage: model CONFIGURATION [SEED]\nconfigurations: mixed");
        for (size_t i = 0; i < CONFIGURATIONS; i++)
            fprintf(stderr, " %s", configurations[i].name);
        fprintf(stderr, "\n");
        return 2;
    }
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 0);
    if (getenv("RUNG_MODEL_CHILD") != NULL) {
#ifdef WITH_DOUBLE
        double_pass_through();
#endif
        run_seed();
        return 0;
    }
    if (argc > 2)
        return run_in_process("/proc/self/exe", seed) != 0;
    const double end = now() + number_from("RUNG_MODEL_SECONDS", 1);
    uint64_t first = (uint64_t)number_from("RUNG_MODEL_SEED", (double)(time(NULL) % 1000000 * 100));
    size_t done = 0;
    printf("model %s: seeds from RUNG_MODEL_SEED=%llu\n", configuration, (unsigned long long)first);
    do {
        if (run_in_process("/proc/self/exe", first + done) != 0)
            return 1;
        done++;
    } while (now() < end);
    printf("%zu seeds\n", done);
    return 0;
}
