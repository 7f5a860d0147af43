// FIELD 14: in a limited address space (ulimit -v) memory runs out with NULL and ENOMEM, everything
// freed can be used again, and nothing crashes: not in one thread, not in several, not while the
// program starts.
#include "child.h"
#include "workout.h"
#include <pthread.h>

static const rlim_t ROOM = (rlim_t)200 << 20;

static void limit_room(rlim_t room) {
    struct rlimit limit = {0, 0};
    REQUIRE(getrlimit(RLIMIT_AS, &limit) == 0, "getrlimit: errno %d", errno);
    limit.rlim_cur = ((rlim_t)status_kib("VmSize") << 10) + room;
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit: errno %d", errno);
}

struct list {
    struct list *next;
};

// Takes blocks of one size until there are no more; gives the number of bytes.
static size_t exhaust(size_t size, struct list **blocks) {
    size_t total = 0;
    for (;;) {
        errno = 0;
        struct list *mem = malloc(size);
        if (!mem) {
            CHECK(errno == ENOMEM, "malloc(%zu) failed with errno %d", size, errno);
            return total;
        }
        size_t some = 1 << 16; // of a large block, the beginning and the end tell as much
        memset(mem, 0xab, size < some ? size : some);
        ((char *)mem)[size - 1] = 1;
        mem->next = *blocks;
        *blocks = mem;
        total += size;
        REQUIRE(total < (size_t)4 << 30, "the limit does not work");
    }
}

static void release(struct list **blocks) {
    while (*blocks) {
        struct list *next = (*blocks)->next;
        free(*blocks);
        *blocks = next;
    }
}

static void refusals_while_exhausted(void) {
    size_t more = 64 << 20;
    errno = 0;
    CHECK(!calloc(1, more) && errno == ENOMEM, "calloc: errno %d", errno);
    errno = 0;
    CHECK(!realloc(NULL, more) && errno == ENOMEM, "realloc: errno %d", errno);
    errno = 0;
    CHECK(!memalign(4096, more) && errno == ENOMEM, "memalign: errno %d", errno);
    errno = 0;
    CHECK(!valloc(more) && errno == ENOMEM, "valloc: errno %d", errno);
    void *mem = NULL;
    CHECK(posix_memalign(&mem, 4096, more) == ENOMEM && !mem, "posix_memalign gave memory");
}

static void in_one_thread(void *size) {
    struct list *blocks = NULL;
    limit_room(ROOM);
    size_t first = exhaust(*(size_t *)size, &blocks);
    refusals_while_exhausted();
    CHECK(first > ROOM / 2, "only %zu MiB of 200 could be had in blocks of %zu", first >> 20,
          *(size_t *)size);
    for (int round = 0; round < 3; round++) {
        release(&blocks);
        size_t again = exhaust(*(size_t *)size, &blocks);
        CHECK(again >= first / 10 * 9, "blocks of %zu: %zu MiB at first, %zu MiB in round %d",
              *(size_t *)size, first >> 20, again >> 20, round);
    }
    release(&blocks);
    work_out(&the_allocator, 5, 10000);
    check_heap("after exhaustion");
    _exit(check_result());
}

// A freed size helps every other size.
static void sizes_in_turn(void *unused) {
    (void)unused;
    static const size_t sizes[] = {100, 5000, 100000, 1000000, 30000, 700, 20000000, 64};
    limit_room(ROOM);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct list *blocks = NULL;
        size_t total = exhaust(sizes[i], &blocks);
        CHECK(total > ROOM / 2, "blocks of %zu after others: %zu MiB of 200", sizes[i],
              total >> 20);
        release(&blocks);
        malloc_trim(0);
    }
    check_heap("after exhaustion");
    _exit(check_result());
}

static void *exhausting_thread(void *size) {
    for (int round = 0; round < 5; round++) {
        struct list *blocks = NULL;
        exhaust((size_t)(uintptr_t)size, &blocks);
        release(&blocks);
    }
    return NULL;
}

static void in_threads(void *unused) {
    (void)unused;
    pthread_t t[4];
    int started = 0;
    limit_room(ROOM);
    for (size_t i = 0; i < 4; i++)
        if (pthread_create(&t[started], NULL, exhausting_thread,
                           (void *)(uintptr_t)(600 << i * 3)) == 0)
            started++;
    CHECK(started > 0, "no thread could be started");
    while (started-- > 0)
        pthread_join(t[started], NULL);
    struct list *blocks = NULL;
    size_t total = exhaust(5000, &blocks);
    CHECK(total > ROOM / 4, "after the threads only %zu MiB of 200 could be had", total >> 20);
    release(&blocks);
    check_heap("after exhaustion");
    _exit(check_result());
}

// A whole program under a limit that leaves it little: it starts, or the loader says why it cannot;
// it never crashes.
static void start_limited(rlim_t limit_bytes, char *program, bool must_work) {
    struct rlimit before;
    getrlimit(RLIMIT_AS, &before);
    struct rlimit limit = {limit_bytes, before.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
    extern char **environ;
    char *const argv[] = {program, (char[]){"start"}, NULL};
    struct child_job job = {NULL, NULL, argv, environ};
    struct outcome o;
    run_child(&job, &o);
    setrlimit(RLIMIT_AS, &before);
    CHECK(WIFEXITED(o.status), "a start with %llu MiB of address space: %s: %s",
          (unsigned long long)limit_bytes >> 20, ending(&o), o.err);
    CHECK(!must_work || exited_with(&o, 0), "a start with %llu MiB of address space: %s: %s",
          (unsigned long long)limit_bytes >> 20, ending(&o), o.err);
}

int main(int argc, char **argv) {
    require_rung();
    if (argc > 1 && strcmp(argv[1], "start") == 0) {
        work_out(&the_allocator, 6, 5000);
        return check_result();
    }
    static size_t sizes[] = {24, 1000, 20000, 100000, 300000, 10000000};
    struct outcome o;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        run_function(in_one_thread, &sizes[i], &o);
        CHECK(exited_with(&o, 0), "blocks of %zu: %s\n%s", sizes[i], ending(&o), o.err);
    }
    run_function(sizes_in_turn, NULL, &o);
    CHECK(exited_with(&o, 0), "sizes in turn: %s\n%s", ending(&o), o.err);
    run_function(in_threads, NULL, &o);
    CHECK(exited_with(&o, 0), "threads: %s\n%s", ending(&o), o.err);
    for (rlim_t mib = 4; mib <= 64; mib += 2)
        start_limited(mib << 20, argv[0], mib >= 40);
    return check_result();
}
