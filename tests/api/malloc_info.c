// Row E4: makes a heap with something in every part of it, writes what malloc_info says of it to
// standard output, then one line of mallinfo2 for comparison. malloc_info.py runs this program and
// judges the output.
#include "check.h"
#include <malloc.h>
#include <pthread.h>

enum { THREADS = 3 };
static pthread_barrier_t ready, done;

static void make_holes(void) {
    static __thread void *mem[300];
    for (size_t i = 0; i < 300; i++)
        mem[i] = malloc(
            i < 100 ? 200 : 1100 + i * 10); // small chunks past the cache, large ones of many sizes
    for (size_t i = 0; i < 300; i += 2)
        free(mem[i]);
    void *sorts_them = malloc(20000);
    free(mem[151]); // one unsorted chunk remains
    REQUIRE(sorts_them, "no memory");
}

static void *live_thread(void *unused) {
    make_holes();
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&done);
    return unused;
}

// A stream that allocates while it is written to: no lock may be held meanwhile.
static void test_stream_that_allocates(void) {
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    REQUIRE(f, "no memory stream");
    CHECK(malloc_info(0, f) == 0, "malloc_info failed");
    fclose(f);
    CHECK(text && strncmp(text, "<malloc version=\"1\">", 20) == 0, "a memory stream got \"%.40s\"",
          text);
    free(text);
}

static void test_bad_arguments(void) {
    FILE *f = tmpfile();
    REQUIRE(f, "no temporary file");
    CHECK(malloc_info(1, f) == EINVAL, "malloc_info(1) is no error");
    CHECK(malloc_info(-1, f) == EINVAL, "malloc_info(-1) is no error");
    fflush(f);
    CHECK(ftell(f) == 0, "malloc_info(1) wrote %ld bytes", ftell(f));
    fclose(f);
    f = fopen("/dev/full", "w");
    if (f) {
        malloc_info(0, f);
        fclose(f);
    }
}

int main(void) {
    require_rung();
    pthread_t t[THREADS];
    pthread_barrier_init(&ready, NULL, THREADS + 1);
    pthread_barrier_init(&done, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&t[i], NULL, live_thread, NULL) == 0, "no thread");
    make_holes();
    void *mapped = malloc(40000000);
    REQUIRE(is_mapped(mapped), "40000000 bytes are not a mapping of their own");
    pthread_barrier_wait(&ready);
    test_stream_that_allocates();
    test_bad_arguments();
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer); // so that the report itself allocates nothing
    CHECK(malloc_info(0, stdout) == 0, "malloc_info failed");
    struct mallinfo2 m = mallinfo2();
    printf("<!-- arena=%zu hblks=%zu hblkhd=%zu fordblks=%zu ordblks=%zu keepcost=%zu runs=%zu -->\n",
           m.arena, m.hblks, m.hblkhd, m.fordblks, m.ordblks, m.keepcost, option_value("runs"));
    fflush(stdout);
    pthread_barrier_wait(&done);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    free(mapped);
    return check_result();
}
