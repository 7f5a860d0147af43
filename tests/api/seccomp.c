// FIELD 13: a sandbox that, once the program runs, answers EPERM to madvise, prctl, getrandom,
// sched_getaffinity and openat changes no result. The same work is done in two processes, with and
// without the filter, and what the calls returned is compared.
#include "child.h"
#include "workout.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>

#define DENIED(name)                                                                               \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA))

static void deny(void) {
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        DENIED(madvise),
        DENIED(prctl),
        DENIED(getrandom),
        DENIED(sched_getaffinity),
        DENIED(openat),
#ifdef SYS_open
        DENIED(open),
#endif
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs: errno %d", errno);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        SKIP("this kernel takes no seccomp filter: errno %d", errno);
    errno = 0;
    REQUIRE(madvise(NULL, 0, MADV_DONTNEED) == -1 && errno == EPERM,
            "the filter does not work: errno %d", errno);
}

struct result {
    uint64_t sum;
    uint64_t thread_sum;
    size_t in_use;
    int dirty; // bytes of calloc that were not zero
    int errno_changes;
};

// Memory that is freed, given back (or not: madvise fails) and taken again must be zero for calloc.
static void recycle(struct result *r) {
    enum { BLOCKS = 60, SIZE = 60000 };
    for (int round = 0; round < 4; round++) {
        unsigned char *mem[BLOCKS];
        for (int i = 0; i < BLOCKS; i++) {
            mem[i] = calloc(1, SIZE);
            REQUIRE(mem[i], "no memory");
            for (int k = 0; k < SIZE; k++)
                r->dirty += mem[i][k] != 0;
            memset(mem[i], 0xff, SIZE);
        }
        for (int i = BLOCKS; i-- > 0;) {
            errno = 4711;
            free(mem[i]);
            r->errno_changes += errno != 4711;
        }
        malloc_trim(0);
    }
}

static void *in_thread(void *result) {
    struct result *r = result;
    r->thread_sum = work_out(&the_allocator, 99, 10000);
    recycle(r);
    return NULL;
}

static void work(void *filtered) {
    struct result r = {0};
    if (filtered)
        deny();
    r.sum = work_out(&the_allocator, 42, 20000);
    recycle(&r);
    for (int i = 0; i < 3; i++) {
        pthread_t t;
        REQUIRE(pthread_create(&t, NULL, in_thread, &r) == 0, "no thread");
        pthread_join(t, NULL);
    }
    // With runs, what lies in the caches of CPUs counts: their budget, of objects and of blocks.
    r.in_use = mallinfo2().uordblks > (option_value("runs") ? 8 << 20 : 1 << 20);
    check_heap("at the end");
    REQUIRE(write(STDOUT_FILENO, &r, sizeof r) == sizeof r, "cannot report");
    _exit(check_result());
}

static struct result result_of(void *filtered) {
    struct outcome o;
    struct result r;
    run_function(work, filtered, &o);
    if (exited_with(&o, 77))
        SKIP("%s", o.err);
    REQUIRE(exited_with(&o, 0), "%s filter: %s\n%s", filtered ? "with the" : "without", ending(&o),
            o.err);
    memcpy(&r, o.out, sizeof r);
    return r;
}

int main(void) {
    require_rung();
    static int yes;
    struct result plain = result_of(NULL), filtered = result_of(&yes);
    CHECK(plain.sum == filtered.sum, "main thread: %llx without the filter, %llx with it",
          (unsigned long long)plain.sum, (unsigned long long)filtered.sum);
    CHECK(plain.thread_sum == filtered.thread_sum,
          "a thread: %llx without the filter, %llx with it", (unsigned long long)plain.thread_sum,
          (unsigned long long)filtered.thread_sum);
    CHECK(!plain.dirty && !filtered.dirty,
          "calloc gave %d dirty bytes without the filter, %d with it", plain.dirty, filtered.dirty);
    CHECK(!plain.errno_changes && !filtered.errno_changes,
          "free changed errno %d times without the filter, %d with it", plain.errno_changes,
          filtered.errno_changes);
    CHECK(!plain.in_use && !filtered.in_use, "more stays in use than caches may hold");
    return check_result();
}
