#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/counter.h"
#include "os/syscall.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* ---- memory ---- */

static void *map(void *at, size_t len, int prot, int flags) {
    counter_add(COUNT_SYS_MMAP, 1);
    long ret = syscall6(SYS_mmap, (long)at, (long)len, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags,
                        -1, 0);
    return is_error(ret) ? NULL : (void *)ret;
}

void *os_map(size_t len, int huge_flags) {
    return map(NULL, len, PROT_READ | PROT_WRITE, huge_flags);
}

void *os_reserve(void *hint, size_t len) {
    return map(hint, len, PROT_NONE, MAP_NORESERVE);
}

bool os_unmap(void *start, size_t len) {
    counter_add(COUNT_SYS_MUNMAP, 1);
    return syscall4(SYS_munmap, (long)start, (long)len, 0, 0) == 0;
}

bool os_commit(void *start, size_t len) {
    counter_add(COUNT_SYS_MPROTECT, 1);
    return syscall4(SYS_mprotect, (long)start, (long)len, PROT_READ | PROT_WRITE, 0) == 0;
}

bool os_decommit(void *start, size_t len) {
    return map(start, len, PROT_NONE, MAP_FIXED | MAP_NORESERVE) != NULL;
}

static bool advise(void *start, size_t len, int advice) {
    counter_add(COUNT_SYS_MADVISE, 1);
    return syscall4(SYS_madvise, (long)start, (long)len, advice, 0) == 0;
}

bool os_purge(void *start, size_t len) {
    return advise(start, len, MADV_DONTNEED);
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

bool os_populate(void *start, size_t len) {
    static _Atomic bool unknown; /* to this kernel */
    if (unknown)
        return false;
    counter_add(COUNT_SYS_POPULATE, 1);
    long ret = syscall4(SYS_madvise, (long)start, (long)len, MADV_POPULATE_WRITE, 0);
    if (ret == -EINVAL)
        unknown = true;
    return ret == 0;
}

bool os_advise_huge(void *start, size_t len) {
    return advise(start, len, MADV_HUGEPAGE);
}

bool os_advise_small(void *start, size_t len) {
    return advise(start, len, MADV_NOHUGEPAGE);
}

void *os_remap(void *start, size_t old_len, size_t new_len) {
    counter_add(COUNT_SYS_MREMAP, 1);
    long ret = syscall4(SYS_mremap, (long)start, (long)old_len, (long)new_len, MREMAP_MAYMOVE);
    return is_error(ret) ? NULL : (void *)ret;
}

void os_name(void *start, size_t len, const char *name) {
    counter_add(COUNT_SYS_OTHER, 1);
    (void)syscall6(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, (long)start, (long)len, (long)name,
                   0);
}

/* libc's idea of where the break is.  Its sbrk moves the break relative to this variable, so it
   has to follow each of our moves.  glibc and its derivatives export it; weak, since musl has no
   such thing (and no working sbrk that could disagree). */
extern void *__curbrk __attribute__((weak));

static char *ask_break(char *wanted) {
    counter_add(COUNT_SYS_BRK, 1);
    return (char *)syscall4(SYS_brk, (long)wanted, 0, 0, 0);
}

void *os_break(intptr_t delta) {
    static char *without_libc;
    char **current = &__curbrk != NULL ? (char **)&__curbrk : &without_libc;
    if (*current == NULL)
        *current = ask_break(NULL);
    char *old = *current;
    if (delta == 0)
        return old;
    char *wanted = old + delta;
    if ((delta > 0) != (wanted > old))
        return NULL;
    /* The kernel answers with the break in force, the old one when it refused. */
    char *now = ask_break(wanted);
    if (now != wanted)
        return NULL;
    *current = now;
    return old;
}

/* ---- waiting ---- */

bool os_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_us) {
    struct timespec limit = {.tv_sec = timeout_us / 1000000,
                             .tv_nsec = (timeout_us % 1000000) * 1000};
    long ret = syscall4(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, (long)expected,
                        timeout_us < 0 ? 0 : (long)&limit);
    return ret != -ETIMEDOUT;
}

void os_wake(_Atomic uint32_t *word, int count) {
    (void)syscall4(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, count, 0);
}

/* A sleep of no length, which lasts some 50 microseconds.  Not sched_yield: a sandbox that lets malloc through need
   not know it. */
void os_yield(void) {
    static _Atomic uint32_t nobody_wakes;
    (void)os_wait(&nobody_wakes, 0, 1);
}

bool os_random(void *buf, size_t len) {
    counter_add(COUNT_SYS_OTHER, 1);
    const long grnd_nonblock = 1;
    return syscall4(SYS_getrandom, (long)buf, (long)len, grnd_nonblock, 0) == (long)len;
}

/* ---- processes and threads ---- */

int os_process_id(void) {
    return (int)syscall4(SYS_getpid, 0, 0, 0, 0);
}

void os_name_thread(const char *name) {
    (void)syscall6(SYS_prctl, PR_SET_NAME, (long)name, 0, 0, 0, 0);
}

/* ---- saying something ---- */

void os_write(int fd, const char *text, size_t len) {
    while (len > 0) {
        long n = syscall4(SYS_write, fd, (long)text, (long)len, 0);
        if (n == -EINTR)
            continue;
        if (n <= 0)
            return;
        text += n;
        len -= (size_t)n;
    }
}

void os_abort(void) {
    abort();
}

/* ---- signals ---- */

static void change_signals(int how, const uint64_t *set, uint64_t *old) {
    (void)syscall4(SYS_rt_sigprocmask, how, (long)set, (long)old, sizeof *set);
}

void os_block_signals(uint64_t *old) {
    const uint64_t all = ~(uint64_t)0;
    change_signals(SIG_SETMASK, &all, old);
}

/* glibc keeps 32 and 33 for itself, musl 32 to 34. */
#ifdef __GLIBC__
#define SIGNALS_OF_LIBC ((uint64_t)3 << 31)
#else
#define SIGNALS_OF_LIBC ((uint64_t)7 << 31)
#endif

void os_block_user_signals(uint64_t *old) {
    const uint64_t theirs = ~SIGNALS_OF_LIBC;
    change_signals(SIG_BLOCK, &theirs, old);
}

void os_restore_signals(const uint64_t *old) {
    change_signals(SIG_SETMASK, old, NULL);
}
