// soft_limit and hard_limit: beyond the hard one allocations fail with ENOMEM and nothing is lost; beyond the
// soft one the program's function is called, once and with no lock held.
#include "child.h"
#include "workout.h"
#include "../../include/rung/rung.h"
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

static void (*set_soft)(size_t);
static void (*set_hard)(size_t);
static void (*on_soft)(void (*)(size_t, void *), void *);
static size_t (*counter)(const char *);
static size_t (*option)(const char *);

static void find(void *to, const char *name) {
    void *f = dlsym(RTLD_DEFAULT, name);
    REQUIRE(f, "no %s: run this program with LD_PRELOAD=.../librung.so", name);
    memcpy(to, &f, sizeof f);
}

static size_t footprint(void) {
    return counter("footprint");
}

static const size_t MIB = (size_t)1 << 20;
static const size_t ROOM = (size_t)64 << 20;

struct list {
    struct list *next;
};

// Takes blocks of one size until there are no more, or `most` bytes; gives the number of bytes.
static size_t take_up_to(size_t most, size_t size, struct list **blocks) {
    size_t total = 0;
    while (total < most) {
        errno = 0;
        struct list *mem = malloc(size);
        if (!mem) {
            CHECK(errno == ENOMEM, "malloc(%zu) failed with errno %d", size, errno);
            break;
        }
        memset(mem, 0xab, size);
        mem->next = *blocks;
        *blocks = mem;
        total += size;
    }
    return total;
}

static size_t exhaust(size_t size, struct list **blocks) {
    size_t total = take_up_to((size_t)1 << 30, size, blocks);
    REQUIRE(total < (size_t)1 << 30, "the limit does not work");
    return total;
}

static void release(struct list **blocks) {
    while (*blocks) {
        struct list *next = (*blocks)->next;
        free(*blocks);
        *blocks = next;
    }
}

static void all_but_every(struct list **blocks, size_t nth) {
    struct list *kept = NULL;
    for (size_t i = 0; *blocks; i++) {
        struct list *next = (*blocks)->next;
        if (i % nth == 0) {
            (*blocks)->next = kept;
            kept = *blocks;
        } else {
            free(*blocks);
        }
        *blocks = next;
    }
    *blocks = kept;
}

static long set_room(size_t room) {
    set_hard(footprint() + room);
    return status_kib("VmRSS");
}

// ---- the hard limit ----

static void one_size(void *size_at) {
    size_t size = *(size_t *)size_at;
    struct list *blocks = NULL;
    long before = set_room(ROOM);
    size_t first = exhaust(size, &blocks);
    long grown = status_kib("VmRSS") - before;
    CHECK(footprint() <= option("hard_limit"), "%zu bytes are beyond the limit", footprint() - option("hard_limit"));
    CHECK(grown <= (long)(ROOM >> 10) + 1024, "blocks of %zu: resident memory grew by %ld KiB", size, grown);
    size_t with_header = size < 64 ? size * 2 : size;
    CHECK(first / size * with_header > ROOM / 4 * 3, "blocks of %zu: only %zu of %zu KiB could be had", size,
          first >> 10, ROOM >> 10);
    for (int round = 0; round < 3; round++) {
        release(&blocks);
        size_t again = exhaust(size, &blocks);
        CHECK(again >= first / 20 * 19, "blocks of %zu: %zu KiB at first, %zu KiB in round %d", size,
              first >> 10, again >> 10, round);
    }
    release(&blocks);
    CHECK(malloc(2 * ROOM) == NULL && errno == ENOMEM, "errno %d", errno);
    set_hard(0);
    void *large = malloc(2 * ROOM);
    CHECK(large, "without a limit there is no memory");
    free(large);
    work_out(&the_allocator, 5, 10000);
    check_heap("after exhaustion");
    _exit(check_result());
}

// What was freed in one size helps every other, also when some blocks remain here and there.
static void sizes_in_turn(void *unused) {
    (void)unused;
    static const size_t sizes[] = {100, 5000, 100000, 1000000, 30000, 700, 20000000, 64};
    (void)set_room(ROOM);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct list *blocks = NULL;
        size_t total = exhaust(sizes[i], &blocks);
        CHECK(total > ROOM / 2, "blocks of %zu after others: %zu KiB of %zu", sizes[i], total >> 10, ROOM >> 10);
        CHECK(footprint() <= option("hard_limit"), "%zu bytes are beyond the limit",
              footprint() - option("hard_limit"));
        release(&blocks);
    }
    check_heap("after exhaustion");
    _exit(check_result());
}

// Pages between survivors, given back, count when they are used again.
static void holes(void *unused) {
    (void)unused;
    if (!option("runs"))
        SKIP("arenas count their holes whether they were given back or not: see option soft_limit");
    struct list *small = NULL, *other = NULL;
    long before = set_room(ROOM);
    size_t first = exhaust(512, &small);
    all_but_every(&small, 256);
    size_t second = exhaust(100000, &other);
    CHECK(second > first / 2, "%zu KiB of the %zu in holes were to be had", second >> 10, first >> 10);
    size_t refill = exhaust(512, &small);
    CHECK(refill < first / 2, "holes of %zu KiB were filled beside %zu KiB", refill >> 10, second >> 10);
    CHECK(footprint() <= option("hard_limit"), "%zu bytes are beyond the limit", footprint() - option("hard_limit"));
    CHECK(status_kib("VmRSS") - before <= (long)(ROOM >> 10) + 1024, "resident memory grew by %ld KiB",
          status_kib("VmRSS") - before);
    release(&other);
    CHECK(exhaust(512, &small) > second / 2, "what was freed cannot fill the holes");
    release(&small);
    check_heap("after holes");
    _exit(check_result());
}

static void entry_points(void *unused) {
    (void)unused;
    struct list *blocks = NULL;
    (void)set_room(ROOM);
    exhaust(3000, &blocks);
    size_t more = 4 * MIB;
#define REFUSES(call)                                                                              \
    do {                                                                                           \
        errno = 0;                                                                                 \
        CHECK(!(call) && errno == ENOMEM, "%s: errno %d", #call, errno);                           \
    } while (0)
    REFUSES(malloc(more));
    REFUSES(calloc(1, more));
    REFUSES(calloc(1000, more / 1000));
    REFUSES(realloc(NULL, more));
    REFUSES(reallocarray(NULL, 2, more));
    REFUSES(memalign(64, more));
    REFUSES(memalign(65536, more));
    REFUSES(aligned_alloc(4096, more));
    REFUSES(valloc(more));
    REFUSES(pvalloc(more));
    void *mem = NULL;
    CHECK(posix_memalign(&mem, 4096, more) == ENOMEM && !mem, "posix_memalign gave memory");
    // A failed realloc leaves the block as it was.
    unsigned char *block = (unsigned char *)blocks;
    struct list *rest = blocks->next;
    memset(block, 0x5c, 3000);
    REFUSES(realloc(block, more));
    for (size_t i = 0; i < 3000; i++)
        REQUIRE(block[i] == 0x5c, "byte %zu has changed", i);
    free(block);
    release(&rest);
    check_heap("after refusals");
    for (size_t size = 16; size < ROOM / 4; size = size * 3 + 8) { // twice as much beside it
        mem = calloc(1, size);
        REQUIRE(mem, "calloc(1, %zu) after everything was freed", size);
        for (size_t i = 0; i < size; i++)
            REQUIRE(((char *)mem)[i] == 0, "calloc(1, %zu): byte %zu", size, i);
        mem = realloc(mem, size * 2);
        CHECK(mem, "realloc to %zu", size * 2);
        memset(mem, 1, size * 2);
        free(mem);
        mem = memalign(256, size);
        CHECK(mem, "memalign(256, %zu)", size);
        free(mem);
    }
    _exit(check_result());
}

// A block grows in place when the difference is all that the limit allows.
static void grow_in_place(void *unused) {
    (void)unused;
    static const size_t sizes[][2] = {{20, 30}, {50, 60}};
    for (int i = 0; i < 2; i++) {
        size_t from = sizes[i][0] * MIB, to = sizes[i][1] * MIB;
        (void)set_room(to + 2 * MIB);
        char *mem = malloc(from);
        REQUIRE(mem, "malloc(%zu)", from);
        memset(mem, 0x37, from);
        char *grown = realloc(mem, to);
        CHECK(grown, "no realloc from %zu to %zu in %zu", from, to, to + 2 * MIB);
        if (grown)
            memset(grown + from, 0x37, to - from);
        CHECK(!realloc(grown ? grown : mem, to + 8 * MIB), "realloc beyond the limit");
        CHECK(footprint() <= option("hard_limit"), "beyond the limit");
        free(grown ? grown : mem);
    }
    _exit(check_result());
}

static void *exhausting_thread(void *size) {
    for (int round = 0; round < 5; round++) {
        struct list *blocks = NULL;
        exhaust((size_t)(uintptr_t)size, &blocks);
        CHECK(footprint() <= option("hard_limit") + MIB, "%zu bytes are beyond the limit",
              footprint() - option("hard_limit"));
        release(&blocks);
    }
    return NULL;
}

static void in_threads(void *unused) {
    (void)unused;
    enum { THREADS = 6 };
    pthread_t t[THREADS];
    size_t sizes[THREADS] = {64, 600, 5000, 60000, 300000, 3000000};
    long before = set_room(ROOM);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&t[i], NULL, exhausting_thread, (void *)(uintptr_t)sizes[i]) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    long peak = status_kib("VmHWM") - before;
    // Stacks, and what the kernel has not added up yet.
    CHECK(peak <= (long)(ROOM >> 10) + 4096, "resident memory grew to %ld KiB more", peak);
    struct list *blocks = NULL;
    size_t total = exhaust(100000, &blocks);
    CHECK(total > ROOM / 4, "after the threads %zu KiB of %zu could be had", total >> 10, ROOM >> 10);
    release(&blocks);
    check_heap("after threads");
    _exit(check_result());
}

// A limit below what is in use takes nothing away.
static void below_use(void *unused) {
    (void)unused;
    struct list *blocks = NULL;
    size_t had = take_up_to(ROOM, 2000, &blocks);
    set_hard(footprint() / 2);
    CHECK(!malloc(MIB) && errno == ENOMEM, "errno %d", errno);
    size_t count = 0;
    for (struct list *l = blocks; l; l = l->next)
        count++;
    CHECK(count * 2000 == had, "%zu blocks are left", count);
    release(&blocks);
    void *mem = malloc(MIB);
    CHECK(mem, "nothing although all was freed: %zu of %zu bytes", footprint(), option("hard_limit"));
    free(mem);
    check_heap("after a limit below use");
    _exit(check_result());
}

// ---- the soft limit ----

static atomic_int calls, depth;
static size_t called_with;
static pthread_t called_in;

static void limit_reached(size_t used, void *arg) {
    CHECK(atomic_fetch_add(&depth, 1) == 0, "called again from within");
    atomic_fetch_add(&calls, 1);
    called_with = used;
    called_in = pthread_self();
    CHECK(arg == &calls, "another argument: %p", arg);
    errno = 4711;
    struct list *blocks = NULL; // beyond the limit again, and again
    take_up_to(8 * MIB, 3000, &blocks);
    take_up_to(16 * MIB, 500000, &blocks);
    check_heap("in the program's function"); // takes every lock
    release(&blocks);
    atomic_fetch_sub(&depth, 1);
}

static size_t set_soft_room(size_t room) {
    size_t limit = footprint() + room;
    on_soft(limit_reached, &calls);
    set_soft(limit);
    return limit;
}

static void called_once(void *size_at) {
    size_t size = *(size_t *)size_at;
    struct list *blocks = NULL;
    size_t limit = set_soft_room(ROOM);
    take_up_to(ROOM / 2, size, &blocks);
    CHECK(calls == 0, "called at %zu of %zu bytes", called_with, limit);
    errno = 0;
    for (size_t total = 0; calls == 0 && total < 2 * ROOM;)
        total += take_up_to(size, size, &blocks);
    CHECK(errno == 0, "errno became %d", errno);
    CHECK(calls == 1 && called_with > limit, "calls: %d, with %zu, limit %zu", calls, called_with, limit);
    CHECK(called_with < limit + ROOM / 16 + size, "called as late as at %zu, limit %zu", called_with, limit);
    CHECK(pthread_equal(called_in, pthread_self()), "called in another thread");
    take_up_to(2 * ROOM, size, &blocks);
    CHECK(calls == 1, "called %d times beyond the limit", calls);
    for (int n = 2; n <= 4; n++) {
        release(&blocks);
        malloc_trim(0);
        CHECK(footprint() < limit - ROOM / 2, "%zu bytes are left", footprint());
        take_up_to(2 * ROOM, size, &blocks);
        CHECK(calls == n, "crossed for the %dth time, called %d times", n, calls);
    }
    set_soft(0);
    release(&blocks);
    take_up_to(2 * ROOM, size, &blocks);
    CHECK(calls == 4, "called without a limit");
    release(&blocks);
    check_heap("after the soft limit");
    _exit(check_result());
}

// Free memory is no reason to call: it is given back first.
static void free_memory_goes_first(void *unused) {
    (void)unused;
    if (!option("runs"))
        SKIP("what arenas keep within them counts: see option soft_limit");
    struct list *blocks = NULL;
    for (int swing = 0; swing < 4; swing++) { // the allowance is learned
        take_up_to(ROOM, 1000, &blocks);
        release(&blocks);
    }
    size_t limit = set_soft_room(0);
    malloc_trim(0);
    limit = footprint() + ROOM / 4 * 5;
    set_soft(limit);
    static const size_t sizes[] = {1000, 20000, 48, 100000, 400, 7000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        take_up_to(ROOM, sizes[i], &blocks);
        CHECK(footprint() <= limit, "%zu bytes, limit %zu", footprint(), limit);
        release(&blocks);
    }
    CHECK(calls == 0, "called %d times, with %zu, limit %zu", calls, called_with, limit);
    // Near the limit next to nothing that is free stays.
    take_up_to(ROOM, 1000, &blocks);
    struct list *more = NULL;
    size_t used = footprint();
    size_t room = limit - used;
    take_up_to(room - room / 8, 5000, &more);
    release(&more);
    CHECK(footprint() < used + room / 2 + MIB, "%zu of %zu free KiB stay", (footprint() - used) >> 10, room >> 10);
    _exit(check_result());
}

static void *crossing_thread(void *unused) {
    (void)unused;
    for (int i = 0; i < 4; i++) {
        struct list *blocks = NULL;
        take_up_to(ROOM / 2, 2000, &blocks);
        release(&blocks);
    }
    return NULL;
}

static void soft_in_threads(void *unused) {
    (void)unused;
    pthread_t t[4];
    set_soft_room(ROOM);
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&t[i], NULL, crossing_thread, NULL) == 0, "no thread");
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    check_heap("after threads");
    _exit(check_result());
}

static void fork_within(size_t used, void *arg) {
    (void)used;
    (void)arg;
    if (atomic_fetch_add(&calls, 1) > 0)
        return;
    pid_t pid = fork();
    if (pid == 0) { // the child returns as well, and crosses the limit again
        alarm(30);
        return;
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %#x", status);
}

static void forks(void *unused) {
    (void)unused;
    struct list *blocks = NULL;
    on_soft(fork_within, NULL);
    set_soft(footprint() + ROOM / 4);
    take_up_to(ROOM, 3000, &blocks);
    release(&blocks);
    malloc_trim(0);
    take_up_to(ROOM, 3000, &blocks);
    CHECK(calls == 2, "called %d times", calls);
    release(&blocks);
    _exit(check_result());
}

static void in_a_child(void (*f)(void *), void *arg, const char *what) {
    struct outcome o;
    run_function(f, arg, &o);
    CHECK(exited_with(&o, 0) || exited_with(&o, 77), "%s: %s\n%s", what, ending(&o), o.err);
}

int main(int argc, char **argv) {
    require_rung();
    find(&set_soft, "rung_set_soft_limit");
    find(&set_hard, "rung_set_hard_limit");
    find(&on_soft, "rung_on_soft_limit");
    find(&counter, "rung_counter");
    find(&option, "rung_option");
    if (argc > 1 && strcmp(argv[1], "from_options") == 0) {
        struct list *blocks = NULL;
        CHECK(option("hard_limit") == 48 * MIB, "hard_limit is %zu", option("hard_limit"));
        size_t total = exhaust(10000, &blocks);
        CHECK(total > 40 * MIB && total < 48 * MIB, "%zu KiB could be had", total >> 10);
        release(&blocks);
        return check_result();
    }
    static size_t sizes[] = {24, 200, 1000, 20000, 100000, 300000, 5000000};
    char what[64];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        snprintf(what, sizeof what, "blocks of %zu", sizes[i]);
        in_a_child(one_size, &sizes[i], what);
        if (sizes[i] > 1032 || option("runs")) { // a cached chunk below top keeps what is below it
            snprintf(what, sizeof what, "soft limit, blocks of %zu", sizes[i]);
            in_a_child(called_once, &sizes[i], what);
        }
    }
    in_a_child(sizes_in_turn, NULL, "sizes in turn");
    in_a_child(holes, NULL, "holes");
    in_a_child(entry_points, NULL, "entry points");
    in_a_child(grow_in_place, NULL, "growing in place");
    in_a_child(in_threads, NULL, "threads");
    in_a_child(below_use, NULL, "a limit below what is in use");
    in_a_child(free_memory_goes_first, NULL, "free memory goes first");
    in_a_child(soft_in_threads, NULL, "soft limit, threads");
    in_a_child(forks, NULL, "a fork in the program's function");
    return check_result();
}
