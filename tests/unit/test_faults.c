/* Every system call of every operation is refused once, alone and with all that follow.
 *
 * Each operation runs in a process of its own for each refusal.  Afterwards the heap must be sound and all
 * memory accounted for; the operation has failed with ENOMEM, or succeeded by another way; once the system
 * gives again, the operation works, and what is freed is whole again. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena/arenas.h"
#include "arena/heap.h"
#include "base/counter.h"
#include "chunk/meta.h"
#include "runs/space.h"
#include "unit.h"

/* What an operation works with, and leaves behind. */
enum { MOST = 160 };
static unsigned char *blocks[MOST];
static size_t sizes[MOST];
static size_t in_use;
static bool refused; /* it returned NULL */

struct operation {
    const char *name;
    void (*prepare)(void);
    void (*run)(void);
    bool allocates; /* and so may return NULL */
};

static const struct operation *current;
static size_t first, last;

/* In the children, where cmocka's longjmp has nowhere to go. */
#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x)) {                                                                                          \
            fprintf(stderr, "%s, calls %zu..%zu refused: %s:%d: %s\n", current->name, first, last, __FILE__, \
                    __LINE__, #x);                                                                           \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

/* ---- blocks whose contents are known ---- */

static void keep(void *p, size_t size, unsigned char fill) {
    CHECK(in_use < MOST);
    memset(p, fill, size);
    blocks[in_use] = p;
    sizes[in_use++] = size;
}

static void keep_new(void *p, size_t size) {
    if (p == NULL) {
        CHECK(errno == ENOMEM);
        refused = true;
    } else {
        CHECK((uintptr_t)p % 16 == 0 && rung_malloc_usable_size(p) >= size);
        keep(p, size, (unsigned char)(in_use + 1));
    }
    errno = 0;
}

static void check_contents(void) {
    for (size_t i = 0; i < in_use; i++)
        for (size_t k = 0; k < sizes[i]; k += k < 64 || sizes[i] - k < 64 ? 1 : 61)
            CHECK(blocks[i][k] == (unsigned char)(i + 1));
}

static void drop(size_t i) {
    errno = 77;
    rung_free(blocks[i]);
    CHECK(errno == 77);
    in_use--;
    CHECK(i == in_use);
}

/* ---- all memory ---- */

static void check_memory(void) {
    CHECK(rung_heap_check() == 0);
    size_t accounted = accounted_bytes(), accessible = double_accessible();
    /* What the kernel would not take back is still there. */
    CHECK(accessible >= accounted && accessible - accounted <= double_refused());
    size_t windows = counter_get(COUNT_SUBHEAPS) * HEAP_MAX;
    windows += space_totals.windows * WINDOW;
    size_t of_windows = space_totals.system;
    struct arena *a = &main_arena;
    while ((a = arena_next(a)) != &main_arena)
        for (struct heap *h = heap_of(a->top); h != NULL; h = h->prev)
            of_windows += h->committed;
    size_t reserved = double_address_space() - accessible;
    CHECK(reserved + of_windows >= windows && reserved + of_windows - windows <= double_refused());
}

/* ---- the operations ---- */

static void nothing(void) {
}

static void small_heap(void) {
    assume(OPT_TCACHE_COUNT, 0);
    keep_new(rung_malloc(100), 100);
}

static void in_a_secondary_arena(void) {
    assume(OPT_TCACHE_COUNT, 0);
    self.arena = NULL;
    keep_new(rung_malloc(100), 100);
    CHECK(self.arena != &main_arena);
}

static void malloc_16(void) {
    keep_new(rung_malloc(16), 16);
}
static void malloc_100000(void) {
    keep_new(rung_malloc(100000), 100000);
    keep_new(rung_malloc(100000), 100000);
}
static void malloc_mapped(void) {
    keep_new(rung_malloc(1 << 20), 1 << 20);
}
static void calloc_100000(void) {
    for (int i = 0; i < 2; i++) {
        unsigned char *p = rung_calloc(100000, 1);
        for (size_t k = 0; p != NULL && k < 100000; k++)
            CHECK(p[k] == 0);
        keep_new(p, 100000);
    }
}
static void calloc_mapped(void) {
    unsigned char *p = rung_calloc(1 << 20, 1);
    for (size_t k = 0; p != NULL && k < 1 << 20; k += 97)
        CHECK(p[k] == 0);
    keep_new(p, 1 << 20);
}
static void aligned(size_t align, size_t size) {
    void *p = rung_memalign(align, size);
    CHECK((uintptr_t)p % align == 0);
    keep_new(p, size);
}
static void memalign_in_heap(void) {
    aligned(4096, 50000);
    aligned(65536, 60000);
}
static void memalign_mapped(void) {
    aligned(1 << 20, 300000);
}
static void posix_memalign_in_heap(void) {
    void *p = NULL;
    int saved = errno = 5;
    int ret = rung_posix_memalign(&p, 8192, 100000);
    CHECK((ret == 0 && errno == saved) || (ret == ENOMEM && errno == ENOMEM && p == NULL));
    errno = ENOMEM;
    keep_new(p, 100000);
}

/* The last block gets another size. */
static void resize(size_t size) {
    size_t i = in_use - 1;
    unsigned char *p = rung_realloc(blocks[i], size);
    if (p == NULL) {
        CHECK(errno == ENOMEM && size > sizes[i]);
        refused = true;
        errno = 0;
        return;
    }
    for (size_t k = 0; k < sizes[i] && k < size; k += 61)
        CHECK(p[k] == (unsigned char)(i + 1));
    in_use--;
    keep(p, size, (unsigned char)(i + 1));
}
static void a_block_before_a_wall(void) {
    small_heap();
    keep_new(rung_malloc(16), 16);
    void *p = rung_malloc(1000);
    keep_new(rung_malloc(1000), 1000);
    rung_free(p);
}
static void realloc_in_heap(void) {
    resize(120000);
    resize(200000);
}
static void realloc_secondary(void) {
    resize(120000);
    resize(240000);
}
static void a_mapped_block(void) {
    small_heap();
    keep_new(rung_malloc(400000), 400000);
}
static void realloc_mapped_up(void) {
    resize(1 << 20);
}
static void realloc_mapped_down(void) {
    resize(200000);
}
static void free_last(void) {
    drop(in_use - 1);
}
static void a_large_top(void) {
    assume(OPT_MMAP_MAX, 0);
    small_heap();
    keep_new(rung_malloc(500000), 500000);
}
static void a_large_top_in_a_window(void) {
    assume(OPT_MMAP_MAX, 0);
    in_a_secondary_arena();
    keep_new(rung_malloc(500000), 500000);
}
static void strict(void) {
    struct os_facts facts = os_facts;
    facts.strict_commit = true;
    double_set_facts(&facts);
    a_large_top_in_a_window();
}
static void two_windows(void) {
    assume(OPT_MMAP_MAX, 0);
    in_a_secondary_arena();
    void *big = rung_malloc(63 << 20);
    CHECK(big != NULL);
    keep_new(rung_malloc(500000), 500000);
    keep_new(rung_malloc(900000), 900000);
    rung_free(big);
    CHECK(counter_get(COUNT_SUBHEAPS) == 2);
}
static void free_a_window(void) {
    drop(in_use - 1);
    drop(in_use - 1);
}
static void almost_a_full_window(void) {
    assume(OPT_MMAP_MAX, 0);
    in_a_secondary_arena();
    keep_new(rung_malloc(63 << 20), 63 << 20);
}
static void a_new_window(void) {
    keep_new(rung_malloc(2 << 20), 2 << 20);
}
static void larger_than_a_window(void) {
    keep_new(rung_malloc(65 << 20), 65 << 20);
}
static void holes(void) {
    assume(OPT_TCACHE_COUNT, 0);
    for (int arena = 0; arena < 2; arena++) {
        void *p[8];
        for (size_t i = 0; i < 8; i++) {
            p[i] = rung_malloc(20000);
            keep_new(rung_malloc(16), 16);
        }
        for (size_t i = 0; i < 8; i++)
            rung_free(p[i]);
        self.arena = NULL;
    }
}
static void trim(void) {
    rung_malloc_trim(0);
}
static void behind_a_wall(void) {
    small_heap();
    double_wall_above_break(true);
}
static void huge_pages(void) {
    assume(OPT_HUGETLB, 1);
    assume(OPT_TCACHE_COUNT, 0);
    struct os_facts facts = os_facts;
    facts.thp = 2 << 20;
    facts.thp_on_request = true;
    double_set_facts(&facts);
}
static void *in_thread_body(void *unused) {
    (void)unused;
    keep_new(rung_malloc(100), 100);
    keep_new(rung_malloc(200000), 200000);
    void *p = rung_malloc(64);
    rung_free(p);
    return NULL;
}
/* The cache's memory, an arena, a window; and its end. */
static void thread(void) {
    pthread_t t;
    CHECK(pthread_create(&t, NULL, in_thread_body, NULL) == 0);
    pthread_join(t, NULL);
}
/* So many that the built-in memory for caches is used up. */
static void many_caches(void) {
    keep_new(rung_malloc(16), 16);
    for (size_t mapped = 0; (mapped = counter_get(COUNT_META_MAPPED)) == 0;)
        CHECK(meta_alloc(760) != NULL);
    for (int i = 1; i < 65536 / 768; i++)
        CHECK(meta_alloc(760) != NULL);
}
static void stranded_mappings(void) {
    rung_mallopt(M_MMAP_THRESHOLD, 131072); /* it stays there */
    small_heap();
    keep_new(rung_malloc(1 << 20), 1 << 20);
    void *p[2] = {rung_malloc(2 << 20), rung_malloc(3 << 20)};
    double_fail_verb(VERB_UNMAP);
    rung_free(p[0]);
    rung_free(p[1]);
    double_heal();
    CHECK(double_refused() > 5 << 20);
}
static void a_full_top(void) {
    small_heap();
    keep_new(rung_malloc(100000), 100000);
}

static void with_runs(void) {
    assume(OPT_RUNS, 1);
}
static void first_objects(void) {
    keep_new(rung_malloc(16), 16);
    keep_new(rung_malloc(20000), 20000);
    keep_new(rung_calloc(1, 300), 300);
}
static void runs_to_the_next_step(void) {
    with_runs();
    keep_new(rung_malloc(16), 16);
    size_t system = space_totals.system;
    while (space_totals.system == system)
        CHECK(rung_malloc(32768) != NULL);
}
static void more_runs(void) {
    for (int i = 0; i < 40; i++) /* two a run, sixteen runs a step */
        keep_new(rung_malloc(30000), 30000);
}
static void many_objects(void) {
    with_runs();
    assume(OPT_RUN_KEEP, 0);
    for (int i = 0; i < 40; i++)
        keep_new(rung_malloc(30000), 30000);
}
static void free_many_objects(void) {
    while (in_use > 1)
        drop(in_use - 1);
}
static void realloc_of_an_object(void) {
    resize(40000);
    resize(100);
    resize(300000);
}
static void one_object(void) {
    with_runs();
    keep_new(rung_malloc(5000), 5000);
}

static const struct operation operations[] = {
    {"first malloc", nothing, malloc_16, true},
    {"first malloc, a large one", nothing, malloc_mapped, true},
    {"main arena grows", small_heap, malloc_100000, true},
    {"main arena grows behind a wall", behind_a_wall, malloc_100000, true},
    {"main arena grows in huge pages", huge_pages, malloc_100000, true},
    {"window grows", in_a_secondary_arena, malloc_100000, true},
    {"a mapped block", small_heap, malloc_mapped, true},
    {"a mapped block from a secondary arena", in_a_secondary_arena, malloc_mapped, true},
    {"a mapped block, with stranded ones", stranded_mappings, malloc_mapped, true},
    {"a new window", almost_a_full_window, a_new_window, true},
    {"more than a window", in_a_secondary_arena, larger_than_a_window, true},
    {"calloc", small_heap, calloc_100000, true},
    {"calloc in a window", in_a_secondary_arena, calloc_100000, true},
    {"calloc, mapped", small_heap, calloc_mapped, true},
    {"memalign", small_heap, memalign_in_heap, true},
    {"memalign in a window", in_a_secondary_arena, memalign_in_heap, true},
    {"memalign, mapped", small_heap, memalign_mapped, true},
    {"posix_memalign", a_full_top, posix_memalign_in_heap, true},
    {"realloc", a_block_before_a_wall, realloc_in_heap, true},
    {"realloc in a window", in_a_secondary_arena, realloc_secondary, true},
    {"realloc of a mapped block, larger", a_mapped_block, realloc_mapped_up, true},
    {"realloc of a mapped block, smaller", a_mapped_block, realloc_mapped_down, true},
    {"free of a mapped block", a_mapped_block, free_last, false},
    {"free of a mapped block, with stranded ones", stranded_mappings, free_last, false},
    {"main arena shrinks", a_large_top, free_last, false},
    {"window shrinks", a_large_top_in_a_window, free_last, false},
    {"window shrinks under strict commit", strict, free_last, false},
    {"a window goes", two_windows, free_a_window, false},
    {"malloc_trim", holes, trim, false},
    {"a thread", nothing, thread, true},
    {"a thread, and no metadata left", many_caches, thread, true},
    {"runs: the first objects", with_runs, first_objects, true},
    {"runs: more pages of the window", runs_to_the_next_step, more_runs, true},
    {"runs: empty ones go back", many_objects, free_many_objects, false},
    {"runs: realloc", one_object, realloc_of_an_object, true},
    {"runs: a thread", with_runs, thread, true},
};

/* ---- one run ---- */

/* Everything goes; what remains is what the arenas keep. */
static void free_everything(void) {
    while (in_use > 0)
        drop(in_use - 1);
    rung_malloc_trim(0);
    check_memory();
}

static void run_refusing(void) {
    current->prepare();
    check_contents();
    check_memory();
    double_fail(first, last);
    current->run();
    size_t failures = double_failures();
    CHECK(failures > 0);
    CHECK(current->allocates || !refused);
    double_heal();
    check_contents();
    check_memory();
    /* The system gives again: the same works now. */
    bool was_refused = refused;
    refused = false;
    if (current->allocates) {
        current->run();
        CHECK(!refused);
        check_contents();
        check_memory();
    }
    free_everything();
    CHECK(rung_mallinfo2().hblks == 0);
    /* A mapped block comes and goes, and takes what was stranded with it. */
    assume(OPT_MMAP_MAX, 65536);
    rung_free(rung_malloc(50 << 20));
    CHECK(double_accessible() == accounted_bytes());
    check_memory();
    /* And all of it is still of use. */
    keep_new(rung_malloc(90000), 90000);
    CHECK(!refused);
    free_everything();
    _exit(was_refused ? 2 : 0);
}

static int in_child(void (*f)(void)) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        f();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static int count_pipe[2];

static void run_clean(void) {
    current->prepare();
    double_count_from_here();
    current->run();
    size_t calls = double_fallible_calls();
    CHECK(!refused);
    check_contents();
    check_memory();
    CHECK(write(count_pipe[1], &calls, sizeof calls) == sizeof calls);
}

static size_t clean_calls(void) {
    size_t calls = 0;
    assert_int_equal(pipe(count_pipe), 0);
    assert_int_equal(in_child(run_clean), 0);
    assert_int_equal(read(count_pipe[0], &calls, sizeof calls), sizeof calls);
    close(count_pipe[0]);
    close(count_pipe[1]);
    return calls;
}

/* Returns how many runs ended in a refusal of the caller. */
static size_t refuse_each(const struct operation *o) {
    current = o;
    first = last = 0;
    size_t calls = clean_calls(), refusals = 0;
    assert_true(calls > 0);
    for (size_t k = 1; k <= calls; k++) {
        for (int onward = 0; onward < 2; onward++) {
            first = k;
            last = onward ? SIZE_MAX : k;
            int status = in_child(run_refusing);
            if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 2))
                fail_msg("%s: of %zu calls, %zu..%zu refused: wait status 0x%x", o->name, calls, first, last,
                         (unsigned)status);
            refusals += WEXITSTATUS(status) == 2;
        }
    }
    printf("%s: %zu calls, %zu of %zu runs refused\n", o->name, calls, refusals, 2 * calls);
    return refusals;
}

static void test_every_call_of_every_operation(void **state) {
    (void)state;
    size_t refusals = 0;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        refusals += refuse_each(&operations[i]);
    assert_true(refusals > 0); /* else nothing was ever really out of memory */
}

/* ---- memory limits: refused one after another until it ends ---- */

static void test_until_memory_is_up(void **state) {
    (void)state;
    enum { N = 4000 };
    static void *p[N];
    for (size_t megabytes = 1; megabytes <= 16; megabytes *= 4) {
        double_limit(double_accessible() + (megabytes << 20));
        size_t n = 0;
        const size_t request[] = {100, 5000, 70000, 300000, 24};
        while (n < N && (p[n] = rung_malloc(request[n % 5])) != NULL) {
            memset(p[n], 1, request[n % 5]);
            n++;
        }
        assert_in_range(n, 10, N - 1);
        assert_sound();
        size_t before = n;
        for (size_t i = 0; i < n; i += 2)
            rung_free(p[i]);
        assert_sound();
        for (size_t i = 0; i < n; i += 2) { /* what was freed can be had again */
            p[i] = rung_malloc(request[i % 5]);
            assert_non_null(p[i]);
        }
        for (size_t i = 0; i < before; i++)
            rung_free(p[i]);
        rung_malloc_trim(0);
        assert_sound();
        double_limit(SIZE_MAX);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_call_of_every_operation),
        cmocka_unit_test(test_until_memory_is_up),
    };
    return UNIT_RUN(tests);
}
