// A sandbox that kills at any system call but those that the C library's malloc makes: once the program runs, every
// rung of the ladder makes do with brk, mmap, munmap, mremap, mprotect, madvise and futex.
#include "child.h"
#include "workout.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOWED(name)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

#define OF_MALLOC                                                                                  \
    ALLOWED(brk), ALLOWED(mmap), ALLOWED(munmap), ALLOWED(mremap), ALLOWED(mprotect),              \
        ALLOWED(madvise), ALLOWED(futex),                                                          \
        ALLOWED(mincore), /* of runs/filled.c */

#ifdef SYS_rseq
#define ALLOWED_RSEQ ALLOWED(rseq),
#else
#define ALLOWED_RSEQ
#endif

static struct sock_filter allow_malloc[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    OF_MALLOC
    ALLOWED(write), ALLOWED(exit_group), // for the test's own words and end
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static struct sock_filter allow_threads[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    OF_MALLOC
    ALLOWED(write), ALLOWED(exit_group),
    // for libc's pthread_create, pthread_join and the threads' ends
    ALLOWED(clone), ALLOWED(clone3), ALLOWED(set_robust_list), ALLOWED(rt_sigprocmask), ALLOWED(rt_sigaction), ALLOWED(exit), ALLOWED_RSEQ
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static void enter_sandbox(struct sock_filter *code, size_t n) {
    struct sock_fprog program = {(unsigned short)n, code};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs: errno %d", errno);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        SKIP("this kernel takes no seccomp filter: errno %d", errno);
}
#define ENTER_SANDBOX(code) enter_sandbox(code, sizeof(code) / sizeof *(code))

static void fill_and_drop(size_t size, int n) {
    enum { MOST = 400 };
    static __thread char *mem[MOST];
    for (int i = 0; i < n; i++) {
        mem[i] = malloc(size);
        REQUIRE(mem[i], "malloc(%zu)", size);
        memset(mem[i], 1, size);
    }
    for (int i = 0; i < n; i++)
        free(mem[i]);
}

static void work(void) {
    work_out(&the_allocator, 7, 20000);
    for (int round = 0; round < 20; round++) {
        for (size_t size = 1; size <= 300000; size = size * 3 / 2 + 1)
            fill_and_drop(size, size < 100000 ? 400 : 40);
        fill_and_drop((size_t)40 << 20, 1);
        char *mem = NULL;
        for (size_t size = 100; size < (size_t)20 << 20; size *= 2) {
            mem = realloc(mem, size);
            REQUIRE(mem, "realloc to %zu", size);
            mem[size - 1] = 1;
        }
        free(mem);
        free(memalign(1 << 20, 100));
        free(memalign(4096, 3 << 20));
        free(calloc(3, 1 << 20));
        CHECK(malloc((size_t)1 << 62) == NULL, "4 EiB were there");
        if (round % 5 == 4) {
            (void)malloc_trim(0);
            (void)mallinfo2();
        }
    }
}

static void alone(void *unused) {
    (void)unused;
    ENTER_SANDBOX(allow_malloc);
    work();
    _exit(check_result());
}

static void *in_thread(void *unused) {
    work();
    return unused;
}

static void with_threads(void *unused) {
    (void)unused;
    ENTER_SANDBOX(allow_threads);
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&t[i], NULL, in_thread, NULL) == 0, "no thread");
    work();
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    _exit(check_result());
}

// The filter kills: otherwise nothing above shows anything.
static void forbidden(void *unused) {
    (void)unused;
    ENTER_SANDBOX(allow_malloc);
    (void)getppid();
    _exit(0);
}

int main(void) {
    require_rung();
    struct outcome o;
    run_function(forbidden, NULL, &o);
    if (exited_with(&o, 77))
        SKIP("%s", o.err);
    REQUIRE(killed_by(&o, SIGSYS), "a forbidden call: %s", ending(&o));
    run_function(alone, NULL, &o);
    CHECK(exited_with(&o, 0), "alone: %s\n%s", ending(&o), o.err);
    run_function(with_threads, NULL, &o);
    CHECK(exited_with(&o, 0), "with threads: %s\n%s", ending(&o), o.err);
    return check_result();
}
