// Row E4 and D7: what malloc_trim returns, and what it gives back: the end of the heap, free pages
// inside it, other arenas.
#include "child.h"
#include <malloc.h>
#include <pthread.h>

static void top_of_the_heap(void *unused) {
    (void)unused;
    void *small = malloc(16), *a = malloc(120 << 10), *b = malloc(130 << 10);
    REQUIRE(small && a && b, "no memory");
    CHECK(!is_mapped(a) && is_mapped(b), "120 KiB belong to the heap, 130 KiB are mapped");
    free(b);
    free(a);
    size_t before = mallinfo2().arena;
    int first = malloc_trim(0);
    size_t after = mallinfo2().arena;
    CHECK(first == 1, "the first malloc_trim gave %d", first);
    CHECK(after < before && mallinfo2().keepcost <= 8192, "arena %zu -> %zu, top %zu", before,
          after, mallinfo2().keepcost);
    CHECK(malloc_trim(0) == 0, "a second malloc_trim found something");
    CHECK(mallinfo2().arena == after, "a second malloc_trim changed the arena");
    free(small);
}

static void pad_is_kept(void *unused) {
    (void)unused;
    enum { PAD = 1 << 20 };
    static void *mem[200];
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    for (int i = 0; i < 200; i++)
        mem[i] = malloc(60000);
    for (int i = 0; i < 200; i++)
        free(mem[i]);
    CHECK(mallinfo2().keepcost > 10 << 20, "top has %zu bytes", mallinfo2().keepcost);
    CHECK(malloc_trim(PAD) == 1, "malloc_trim(1 MiB) found nothing in 12 MB");
    size_t top = mallinfo2().keepcost;
    CHECK(top >= PAD && top <= PAD + 8192, "malloc_trim(1 MiB) left %zu bytes", top);
    CHECK(malloc_trim(PAD) == 0, "a second malloc_trim(1 MiB) found something");
}

enum { COUNT = 20000, SIZE = 4096 };
static void *mem[COUNT];

static void fill(void) {
    for (int i = 0; i < COUNT; i++) {
        mem[i] = malloc(SIZE);
        REQUIRE(mem[i], "no memory");
        memset(mem[i], 1, SIZE);
    }
}

static void free_all_but_the_last(void) {
    for (int i = 0; i < COUNT - 1; i++)
        free(mem[i]);
}

static void expect_return(long start, const char *what) {
    long held = status_kib("VmRSS") - start;
    CHECK(held > 70000, "%s: the holes are gone before malloc_trim: %ld KiB", what, held);
    CHECK(malloc_trim(0) == 1, "%s: malloc_trim found nothing in 80 MB", what);
    long left = status_kib("VmRSS") - start;
    CHECK(left < held / 20, "%s: malloc_trim left %ld of %ld KiB", what, left, held);
    for (int i = 0; i < COUNT - 1; i++) { // and the pages are there again when they are wanted
        mem[i] = malloc(SIZE);
        REQUIRE(mem[i], "no memory");
        memset(mem[i], 2, SIZE);
    }
    for (int i = 0; i < SIZE; i++)
        CHECK(((char *)mem[COUNT - 1])[i] == 1, "%s: the live block lost byte %d", what, i);
}

static void pages_inside(void *unused) {
    (void)unused;
    free(malloc(1));
    long start = status_kib("VmRSS");
    fill();
    free_all_but_the_last();
    expect_return(start, "main arena");
}

static pthread_barrier_t stage;

static void *fill_in_thread(void *unused) {
    fill();
    free_all_but_the_last();
    pthread_barrier_wait(&stage);
    pthread_barrier_wait(&stage);
    return unused;
}

static void other_arenas(void *unused) {
    (void)unused;
    free(malloc(1));
    long start = status_kib("VmRSS");
    pthread_t t;
    pthread_barrier_init(&stage, NULL, 2);
    REQUIRE(pthread_create(&t, NULL, fill_in_thread, NULL) == 0, "no thread");
    pthread_barrier_wait(&stage);
    expect_return(start, "another thread's arena");
    pthread_barrier_wait(&stage);
    pthread_join(t, NULL);
}

static void nothing_to_do(void *unused) {
    (void)unused;
    malloc_trim(0);
    int again = malloc_trim(0);
    CHECK(again == 0, "malloc_trim gave %d although all was trimmed", again);
}

static const struct {
    const char *name;
    void (*run)(void *);
} cases[] = {
    {"top of the heap", top_of_the_heap}, {"pad is kept", pad_is_kept},
    {"pages inside", pages_inside},       {"other arenas", other_arenas},
    {"nothing to do", nothing_to_do},
};

static void run_case(void *run) {
    cases[*(size_t *)run].run(NULL);
    check_heap("after malloc_trim");
    _exit(check_result());
}

int main(void) {
    require_rung();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome o;
        run_function(run_case, &i, &o);
        CHECK(exited_with(&o, 0), "%s: %s\n%s", cases[i].name, ending(&o), o.err);
    }
    return check_result();
}
