// The deadlock between an allocator's atfork handler and stdio. Three threads:
//
//   A  holds the lock of a stream and then calls the allocator,
//   C  is in fflush(NULL): it holds libc's list of streams and waits for A's stream,
//   B  forks: libc runs the atfork handlers first and then waits for the list of streams, which C
//   holds.
//
// An allocator whose handler keeps its locks through the fork makes A wait for B, and nobody goes
// on for ever. An allocator that serves A meanwhile lets A give up the stream, C the list, and B
// its fork.
//
// No step is left to chance: the main thread sends each thread on only when the kernel says that
// the one before is asleep in a futex.
// usage: stdio_lock flock|cookie seconds library     library: part of the name of the file malloc
// has to come from
// Exit status 42: the three wait for each other.
#include "fork.h"

enum { DEADLOCK = 42 };

static FILE *stream;
static atomic_int a_holds_stream, a_may_allocate, a_done, b_forks, b_done, c_flushes, c_done;
static pid_t tid_a, tid_b, tid_c;
static bool by_cookie;

// A block of each other thread, so that A's frees go to arenas that are not A's.
static void *block_of_b[40], *block_of_main[40];

static pid_t thread_id(void) {
    return (pid_t)syscall(SYS_gettid);
}

static void await(atomic_int *flag) {
    while (!*flag)
        nap(100);
}

static void allocate_as_needed(void) {
    for (int i = 0; i < 40; i++) {
        free(block_of_b[i]);
        free(block_of_main[i]);
    }
    use_every_class();
    void *mem = calloc(1, 3000);
    mem = realloc(mem, 30000);
    REQUIRE(mem, "no memory");
    free(mem);
}

// What A does while it holds the stream.
static void hold_and_allocate(void) {
    a_holds_stream = 1;
    await(&a_may_allocate);
    allocate_as_needed();
}

static ssize_t write_cookie(void *cookie, const char *text, size_t n) {
    (void)cookie;
    (void)text;
    hold_and_allocate();
    return (ssize_t)n;
}

static void *thread_a(void *unused) {
    tid_a = thread_id();
    if (by_cookie) {
        fputs("a line", stream);
        fflush(stream); // calls write_cookie with the stream locked
    } else {
        flockfile(stream);
        hold_and_allocate();
        funlockfile(stream);
    }
    a_done = 1;
    return unused;
}

static void *thread_b(void *unused) {
    tid_b = thread_id();
    for (size_t i = 0; i < 40; i++)
        block_of_b[i] = malloc(i * 100);
    b_forks = 1; // its arena is there
    await(&c_flushes);
    while (c_flushes != 2)
        nap(100);
    b_forks = 2;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_SECONDS);
        exercise_heap("in the child");
        work_out(&the_allocator, 1, 500);
        end_child();
    }
    use_every_class();
    await_child(pid, "child");
    b_done = 1;
    return unused;
}

static void *thread_c(void *unused) {
    tid_c = thread_id();
    c_flushes = 1;
    fflush(NULL);
    c_done = 1;
    return unused;
}

// A file of /proc about a thread, read without stdio and heap.
static bool read_about(pid_t tid, const char *file, char *text, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

static bool sleeps_in_futex(pid_t tid) {
    char text[512];
    if (!read_about(tid, "syscall", text, sizeof text)) {
        // No such file on this kernel: a sleeping thread that was told to do nothing but the call
        // in question.
        const char *state = read_about(tid, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
        return state && state[2] == 'S';
    }
    return strtol(text, NULL, 10) == SYS_futex;
}

// Asleep for 50 looks in a row, not just passing through a lock that is free again soon.
static void await_asleep(pid_t tid) {
    for (int looks = 0; looks < 50; looks++) {
        if (!sleeps_in_futex(tid))
            looks = -1;
        nap(400);
    }
}

static bool all_done(void) {
    return a_done && b_done && c_done;
}

static void await_end_or_deadlock(long seconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        nap(1000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (!all_done() && now.tv_sec - begin.tv_sec < seconds);
    if (all_done())
        return;
    bool a = sleeps_in_futex(tid_a), b = sleeps_in_futex(tid_b), c = sleeps_in_futex(tid_c);
    say("after %ld s: A %s, B %s, C %s", seconds,
        a_done ? "is done"
        : a    ? "waits"
               : "runs",
        b_done ? "is done"
        : b    ? "waits"
               : "runs",
        c_done ? "is done"
        : c    ? "waits"
               : "runs");
    _exit(a && b && c && !a_done && !b_done && !c_done ? DEADLOCK : 1);
}

int main(int argc, char **argv) {
    REQUIRE(argc == 4, "usage: %s flock|cookie seconds library", argv[0]);
    Dl_info origin;
    REQUIRE(on_host_malloc() || (dladdr(dlsym(RTLD_DEFAULT, "malloc"), &origin) &&
                                 strstr(origin.dli_fname, argv[3])),
            "malloc does not come from %s", argv[3]);
    by_cookie = strcmp(argv[1], "cookie") == 0;
    for (size_t i = 0; i < 40; i++)
        block_of_main[i] = malloc(i * 100);
    cookie_io_functions_t functions = {.write = write_cookie};
    stream = by_cookie ? fopencookie(NULL, "w", functions) : fopen("/dev/null", "w");
    REQUIRE(stream, "no stream: errno %d", errno);

    pthread_t a, b, c;
    REQUIRE(pthread_create(&b, NULL, thread_b, NULL) == 0, "no thread");
    await(&b_forks);
    REQUIRE(pthread_create(&a, NULL, thread_a, NULL) == 0, "no thread");
    await(&a_holds_stream);
    REQUIRE(pthread_create(&c, NULL, thread_c, NULL) == 0, "no thread");
    await(&c_flushes);
    await_asleep(tid_c); // C has the list and waits for A's stream
    c_flushes = 2;
    while (b_forks != 2)
        nap(100);
    await_asleep(tid_b); // B ran its handlers and waits for the list
    a_may_allocate = 1;
    await_end_or_deadlock(strtol(argv[2], NULL, 10));
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    exercise_heap("in the parent");
    return check_result();
}
