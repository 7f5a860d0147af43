// Rows E4 and D7 with runs: malloc_trim gives back every page without an object on it, whoever freed
// it, and returns 1 when it gave something back and only then.
#include "child.h"
#include <malloc.h>
#include <pthread.h>

enum { COUNT = 80000 };
static unsigned char *mem[COUNT];

static void fill(size_t count, size_t size) {
    for (size_t i = 0; i < count; i++) {
        mem[i] = malloc(size);
        REQUIRE(mem[i], "no memory");
        memset(mem[i], 1, size);
    }
}

static void free_all_but_every(size_t count, size_t k) {
    for (size_t i = 0; i < count; i++)
        if (i % k != 0)
            free(mem[i]);
}

static void expect_intact(size_t count, size_t size, size_t k) {
    for (size_t i = 0; i < count; i += k)
        for (size_t n = 0; n < size; n++)
            if (mem[i][n] != 1) {
                CHECK(false, "byte %zu of live block %zu is %d", n, i, mem[i][n]);
                return;
            }
}

// Returns what malloc_trim did; nothing may be left for a second call.
static int trim_twice(const char *what) {
    int first = malloc_trim(0);
    long after = status_kib("VmRSS");
    int second = malloc_trim(0);
    long then = status_kib("VmRSS");
    CHECK(second == 0, "%s: a second malloc_trim gave %d", what, second);
    CHECK(after - then < 64, "%s: a second malloc_trim gave %ld KiB back", what, after - then);
    return first;
}

// Less than what may stay resident unasked, so that it is all malloc_trim's to give back.
static void a_little(void *unused) {
    (void)unused;
    free(malloc(4096));
    trim_twice("the start");
    long start = status_kib("VmRSS");
    fill(200, 4096);
    for (int i = 0; i < 200; i++)
        free(mem[i]);
    long held = status_kib("VmRSS") - start;
    CHECK(held > 600, "800 KiB were freed, %ld KiB are resident", held);
    CHECK(trim_twice("800 KiB") == 1, "malloc_trim found nothing in 800 KiB");
    long left = status_kib("VmRSS") - start;
    CHECK(left < 150, "malloc_trim left %ld of %ld KiB", left, held);
}

static void large_blocks(void *unused) {
    (void)unused;
    trim_twice("the start");
    long start = status_kib("VmRSS");
    fill(2, 400000);
    free(mem[0]);
    free(mem[1]);
    CHECK(status_kib("VmRSS") - start > 600, "800 KB were freed, %ld KiB are resident",
          status_kib("VmRSS") - start);
    CHECK(trim_twice("800 KB") == 1, "malloc_trim found nothing in 800 KB");
    CHECK(status_kib("VmRSS") - start < 150, "malloc_trim left %ld KiB", status_kib("VmRSS") - start);
}

// A live object on every eighth page.
static void between_live_objects(void *unused) {
    (void)unused;
    enum { SIZE = 512, KEPT = 64 };
    trim_twice("the start");
    long start = status_kib("VmRSS");
    fill(COUNT, SIZE);
    long held = status_kib("VmRSS") - start;
    CHECK(held > COUNT / 2, "40 MB were written, %ld KiB are resident", held);
    free_all_but_every(COUNT, KEPT);
    trim_twice("40 MB");
    long left = status_kib("VmRSS") - start;
    CHECK(left < held / 6, "malloc_trim left %ld of %ld KiB", left, held);
    expect_intact(COUNT, SIZE, KEPT);
}

static pthread_barrier_t stage;

static void *fill_in_thread(void *unused) {
    fill(200, 4096);
    free_all_but_every(200, 200);
    free(mem[0]);
    pthread_barrier_wait(&stage);
    pthread_barrier_wait(&stage);
    return unused;
}

// What a live thread's own cache holds stays with it; what it freed beyond that goes.
static void of_another_thread(void *unused) {
    (void)unused;
    pthread_t t;
    free(malloc(4096));
    pthread_barrier_init(&stage, NULL, 2);
    REQUIRE(pthread_create(&t, NULL, fill_in_thread, NULL) == 0, "no thread");
    pthread_barrier_wait(&stage);
    long before = status_kib("VmRSS");
    CHECK(trim_twice("another thread's") == 1, "malloc_trim found nothing of another thread's");
    long gone = before - status_kib("VmRSS");
    CHECK(gone > 200, "malloc_trim gave %ld KiB of another thread's back", gone);
    pthread_barrier_wait(&stage);
    pthread_join(t, NULL);
    trim_twice("after the thread");
}

static void nothing_to_do(void *unused) {
    (void)unused;
    static void *kept[100];
    for (int i = 0; i < 100; i++)
        kept[i] = malloc(1000);
    trim_twice("live blocks");
    CHECK(malloc_trim(1 << 20) == 0, "malloc_trim with a pad found something");
    for (int i = 0; i < 100; i++)
        free(kept[i]);
}

static const struct {
    const char *name;
    void (*run)(void *);
} cases[] = {
    {"a little", a_little},
    {"large blocks", large_blocks},
    {"between live objects", between_live_objects},
    {"of another thread", of_another_thread},
    {"nothing to do", nothing_to_do},
};

static void run_case(void *run) {
    cases[*(size_t *)run].run(NULL);
    check_heap("after malloc_trim");
    _exit(check_result());
}

int main(void) {
    require_rung();
    REQUIRE(option_value("runs"), "there are no runs: RUNG_OPTIONS=profile=default puts them in");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome o;
        run_function(run_case, &i, &o);
        CHECK(exited_with(&o, 0), "%s: %s\n%s", cases[i].name, ending(&o), o.err);
    }
    return check_result();
}
