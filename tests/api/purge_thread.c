// purge_thread: memory goes back while the program calls nothing, by a thread that is not noticed otherwise.
#include "child.h"
#include "workout.h"
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

static int (*purge_thread)(int);
static size_t (*option)(const char *);

static const size_t MIB = (size_t)1 << 20;

// Without a call into malloc, which would look after old memory itself.
static void nap_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&t, &t) != 0) {
    }
}

// The tasks of this process, without the heap; gives their number.
static int tasks(int *ids, int most) {
    char buf[2048];
    int n = 0, fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd >= 0, "cannot open /proc/self/task: mount /proc");
    for (long got; (got = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0;)
        for (long at = 0; at < got;) {
            struct {
                uint64_t ino;
                int64_t off;
                unsigned short len;
                unsigned char type;
                char name[];
            } *entry = (void *)(buf + at);
            if (entry->name[0] != '.' && n < most)
                ids[n++] = (int)strtol(entry->name, NULL, 10);
            at += entry->len;
        }
    close(fd);
    return n;
}

static int count_tasks(void) {
    int ids[64];
    return tasks(ids, 64);
}

static void read_task_file(int id, const char *name, char *to, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", id, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, to, size - 1) : 0;
    if (fd >= 0)
        close(fd);
    to[n > 0 ? n : 0] = 0;
}

// The purge thread's number; 0: there is none.
static int find_purger(void) {
    int ids[64], n = tasks(ids, 64);
    for (int i = 0; i < n; i++) {
        char name[64];
        read_task_file(ids[i], "comm", name, sizeof name);
        if (strcmp(name, "rung-purge\n") == 0)
            return ids[i];
    }
    return 0;
}

static int await_purger(bool wanted) {
    for (int i = 0; i < 500; i++) {
        int id = find_purger();
        if ((id != 0) == wanted)
            return id;
        nap_ms(20);
    }
    return find_purger();
}

static uint64_t status_number(int id, const char *name, int base) {
    static char text[8192];
    read_task_file(id, "status", text, sizeof text);
    char *at = strstr(text, name);
    REQUIRE(at, "no %s in /proc/self/task/%d/status", name, id);
    return strtoull(at + strlen(name), NULL, base);
}

// Touches `bytes` in blocks of one size and frees them again.
static void swing(size_t bytes, size_t size) {
    struct list {
        struct list *next;
    } *blocks = NULL;
    for (size_t total = 0; total < bytes; total += size) {
        struct list *mem = malloc(size);
        REQUIRE(mem, "no memory");
        memset(mem, 1, size);
        mem->next = blocks;
        blocks = mem;
    }
    while (blocks) {
        struct list *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

// Waits until resident memory is below; gives what it is.
static long await_resident(long kib, int seconds) {
    for (int i = 0; i < seconds * 10 && status_kib("VmRSS") >= kib; i++)
        nap_ms(100);
    return status_kib("VmRSS");
}

static void something_ages(void) {
    if (!option("runs") && !option("arena_keep"))
        SKIP("without runs and arena_keep there is nothing that age gives back");
}

// ---- what each process does ----

static void falls_without_a_call(void *unused) {
    (void)unused;
    something_ages();
    swing(4 * MIB, 1000);
    long before = status_kib("VmRSS");
    for (int i = 0; i < 6; i++) // what is purged is soon wanted again: the allowance is learned
        swing(32 * MIB, 1000);
    for (int i = 0; i < 3; i++)
        swing(32 * MIB, 100000);
    CHECK(find_purger(), "no thread has started");
    long peak = status_kib("VmRSS");
    long after = await_resident(before + 6 * 1024, 25);
    say("resident: %ld KiB before, %ld after the swings, %ld without a further call", before, peak, after);
    CHECK(after < before + 6 * 1024, "%ld KiB above the start", after - before);
    work_out(&the_allocator, 7, 5000);
    check_heap("after the fall");
    exit(check_result());
}

static void stays_without_it(void *unused) {
    (void)unused;
    something_ages();
    (void)purge_thread(0);
    for (int i = 0; i < 6; i++)
        swing(32 * MIB, 1000);
    CHECK(count_tasks() == 1, "%d threads although nobody asked for one", count_tasks());
    exit(check_result());
}

static void is_not_noticed(void *unused) {
    (void)unused;
    sigset_t some, now;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &some, NULL);
    swing(16 * MIB, 1000);
    int id = await_purger(true);
    REQUIRE(id, "no thread has started");
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    CHECK(sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGUSR2) == 0 && sigismember(&now, SIGTERM) == 0,
          "the signal mask of its maker has changed");
    // All signals but those of libc.
    uint64_t blocked = status_number(id, "SigBlk:", 16);
    uint64_t unblockable = (1ull << (SIGKILL - 1)) | (1ull << (SIGSTOP - 1));
    CHECK((blocked | unblockable | 3ull << 31) == ~0ull, "it blocks %#llx", (unsigned long long)blocked);
    CHECK((blocked & 3ull << 31) == 0, "it blocks signals of libc: %#llx", (unsigned long long)blocked);
    CHECK(count_tasks() == 2, "%d threads", count_tasks());
    // Once there is nothing left it does not wake up.
    uint64_t wakes = 0, again = 1;
    for (int i = 0; i < 20 && wakes != again; i++) {
        wakes = status_number(id, "\nvoluntary_ctxt_switches:", 10);
        nap_ms(2000);
        again = status_number(id, "\nvoluntary_ctxt_switches:", 10);
    }
    CHECK(wakes == again, "it still wakes up");
    // And then it does, as soon as there is.
    if (option("runs")) {
        swing(16 * MIB, 100000);
        swing(16 * MIB, 1000);
        for (int i = 0; i < 100 && again == wakes; i++) {
            nap_ms(50);
            again = status_number(id, "\nvoluntary_ctxt_switches:", 10);
        }
        CHECK(again != wakes, "it sleeps on");
    }
    // exit works with the thread there.
    exit(check_result());
}

static void small_programs_have_none(void *unused) {
    (void)unused;
    for (int i = 0; i < 1000; i++)
        free(malloc((size_t)i));
    nap_ms(300);
    CHECK(count_tasks() == 1, "%d threads for %d small blocks", count_tasks(), 1000);
    exit(check_result());
}

static void on_and_off(void *unused) {
    (void)unused;
    for (int i = 0; i < 20; i++) {
        errno = 0;
        CHECK(purge_thread(1) == 0, "round %d: errno %d", i, errno);
        CHECK(purge_thread(1) == 0, "it is there already");
        CHECK(option("purge_thread") == 1, "the option says %zu", option("purge_thread"));
        CHECK(count_tasks() == 2, "round %d: %d threads", i, count_tasks());
        swing(2 * MIB, 5000);
        CHECK(purge_thread(0) == 0, "round %d", i);
        for (int ms = 0; ms < 5000 && count_tasks() > 1; ms++)
            nap_ms(1); /* a thread that was waited for is in /proc a little longer */
        CHECK(count_tasks() == 1, "round %d: %d threads after it was ended", i, count_tasks());
    }
    CHECK(purge_thread(0) == 0, "it is gone already");
    swing(16 * MIB, 5000);
    CHECK(count_tasks() == 1, "it has come back by itself");
    exit(check_result());
}

static void child_of_fork(void) {
    alarm(30);
    CHECK(find_purger() == 0, "the child of a fork has a purge thread at once");
    swing(16 * MIB, 700);
    CHECK(await_purger(true), "none comes when it is needed");
    swing(16 * MIB, 60000);
    check_heap("in the child");
    pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        swing(8 * MIB, 300);
        swing(96 * MIB, 300000); // beyond what an arena has inherited
        CHECK(await_purger(true), "none comes in the grandchild");
        _exit(check_failures != 0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the grandchild ended with %#x", status);
    exit(check_result());
}

static void forks(void *unused) {
    (void)unused;
    swing(16 * MIB, 1000);
    REQUIRE(await_purger(true), "no thread has started");
    for (int i = 0; i < 20; i++) {
        swing(8 * MIB, 3000);
        pid_t pid = fork();
        REQUIRE(pid >= 0, "fork: errno %d", errno);
        if (pid == 0)
            child_of_fork();
        int status = -1;
        waitpid(pid, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child %d ended with %#x", i, status);
    }
    CHECK(find_purger(), "the parent's thread is gone");
    pid_t pid = vfork();
    if (pid == 0) { // shares the parent's memory, and must not start anything there
        void *mem = malloc(3 * MIB);
        free(mem);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    CHECK(find_purger(), "the parent's thread is gone after vfork");
    exit(check_result());
}

static void vfork_starts_none(void *unused) {
    (void)unused;
    pid_t pid = vfork();
    if (pid == 0) {
        swing(16 * MIB, 3000);
        _exit(count_tasks() == 1 ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "in the child of vfork: %#x", status);
    swing(64 * MIB, 300000); // beyond what the child has left free
    CHECK(await_purger(true), "none comes in the parent");
    exit(check_result());
}

// libc changes the user of all threads by a signal, and waits until each has answered.
static void changes_user(void *unused) {
    (void)unused;
    swing(16 * MIB, 1000);
    REQUIRE(await_purger(true), "no thread has started");
    for (int i = 0; i < 100; i++) {
        CHECK(setgid(getgid()) == 0 && setuid(getuid()) == 0, "errno %d", errno);
        swing(MIB, 1000);
    }
    if (getuid() == 0) {
        int id = find_purger();
        CHECK(setuid(65534) == 0, "errno %d", errno);
        CHECK(status_number(id, "Uid:", 10) == 65534, "the thread is still root");
    }
    exit(check_result());
}

static void *last_thread(void *unused) {
    (void)unused;
    swing(16 * MIB, 1000);
    CHECK(await_purger(true), "no thread");
    nap_ms(100);
    return NULL;
}

static void at_exit(void) {
    char much[200 * 1024]; // more than the purge thread's stack
    memset(much, check_failures, sizeof much);
    __asm__ volatile("" : : "r"(much) : "memory");
    _exit(much[1000] == 0 ? 42 : 1);
}

// The process ends with the program's last thread.
static void ends_with_the_last(void *unused) {
    (void)unused;
    pthread_t t;
    atexit(at_exit);
    swing(16 * MIB, 1000);
    CHECK(await_purger(true), "no thread");
    REQUIRE(pthread_create(&t, NULL, last_thread, NULL) == 0, "no thread");
    pthread_detach(t);
    pthread_exit(NULL);
}

static void *busy(void *seed) {
    for (int i = 0; i < 15; i++) {
        work_out(&the_allocator, (uint64_t)(uintptr_t)seed, 2000);
        swing(4 * MIB, 100 + 700 * (size_t)(uintptr_t)seed);
        nap_ms(10);
    }
    return NULL;
}

static void beside_busy_threads(void *unused) {
    (void)unused;
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&t[i], NULL, busy, (void *)(uintptr_t)(i + 1)) == 0, "no thread");
    for (int i = 0; i < 10; i++) {
        CHECK(purge_thread(1) == 0, "errno %d", errno);
        nap_ms(30);
        if (i % 3 == 0)
            CHECK(purge_thread(0) == 0, "errno %d", errno);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    check_heap("after busy threads");
    exit(check_result());
}

int main(int argc, char **argv) {
    static const struct {
        void (*f)(void *);
        const char *name, *options;
        int result;
    } all[] = {
        {falls_without_a_call, "falls_without_a_call", "purge_thread=on,purge_delay=200", 0},
        {stays_without_it, "stays_without_it", "purge_delay=200", 0},
        {is_not_noticed, "is_not_noticed", "purge_thread=on,purge_delay=100", 0},
        {small_programs_have_none, "small_programs_have_none", "purge_thread=on,purge_delay=1000", 0},
        {on_and_off, "on_and_off", "purge_delay=50", 0},
        {forks, "forks", "purge_thread=on,purge_delay=10", 0},
        {vfork_starts_none, "vfork_starts_none", "purge_thread=on,purge_delay=1000", 0},
        {changes_user, "changes_user", "purge_thread=on,purge_delay=5", 0},
        {ends_with_the_last, "ends_with_the_last", "purge_thread=on,purge_delay=20", 42},
        {beside_busy_threads, "beside_busy_threads", "purge_delay=5", 0},
    };
    require_rung();
    void *f = dlsym(RTLD_DEFAULT, "rung_purge_thread");
    REQUIRE(f, "no rung_purge_thread");
    memcpy(&purge_thread, &f, sizeof f);
    f = dlsym(RTLD_DEFAULT, "rung_option");
    memcpy(&option, &f, sizeof f);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (argc > 1 && strcmp(argv[1], all[i].name) == 0)
            all[i].f(NULL);
        if (argc > 1)
            continue;
        // Each in a program of its own: no thread was there before.
        extern char **environ;
        char options[256];
        const char *outer = getenv("RUNG_OPTIONS");
        char *copy = strdup(outer ? outer : "");
        snprintf(options, sizeof options, "%s,%s", copy, all[i].options);
        setenv("RUNG_OPTIONS", options, 1);
        char *const args[] = {argv[0], (char *)all[i].name, NULL};
        struct child_job job = {NULL, NULL, args, environ};
        struct outcome o;
        run_child(&job, &o);
        setenv("RUNG_OPTIONS", copy, 1);
        free(copy);
        CHECK(exited_with(&o, all[i].result) || exited_with(&o, 77), "%s: %s\n%s", all[i].name, ending(&o), o.err);
        say("%s: %s", all[i].name, o.err);
    }
    return check_result();
}
