#include "double.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/counter.h"
#include "os/os.h"
#include "ranges.h"

/* libc's mmap and the like, not system calls: sanitizers see those and keep their shadows right. */

#define BREAK_REGION ((size_t)4 << 30)

/* ---- the test's wishes and the record; guarded by `mutex` ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static size_t calls[VERB_COUNT], bytes[VERB_COUNT];
static size_t fallible, failures;
static size_t fail_first, fail_last; /* 0: none */
static bool fail_always[VERB_FALLIBLE];
static size_t limit = SIZE_MAX;
static int last_huge_flags;
static bool huge_pages, wall, purge_leaves;
static _Atomic uint64_t clock_us; /* 0: as it is */

static char *break_base, *break_now; /* NULL before the first use */
static size_t break_offset;

static bool passing; /* set once, before threads */

struct os_facts os_facts = {.page = 4096, .cpus = 1, .usable_cpus = 1};
static struct os_facts kernel_facts = {.page = 4096, .cpus = 2, .usable_cpus = 2, .thp = 2 * MIB, .thp_on_request = true,
                                       .hugetlb = 2 * MIB};

_Noreturn static void misused(const char *verb, const void *start, size_t len) {
    fprintf(stderr, "os double: %s(%p, %zu) is against its contract\n", verb, start, len);
    abort();
}

static void require(bool ok, const char *verb, const void *start, size_t len) {
    if (!ok)
        misused(verb, start, len);
}

static void enter(void) {
    if (!passing)
        pthread_mutex_lock(&mutex);
}

static void leave(void) {
    if (!passing)
        pthread_mutex_unlock(&mutex);
}

static bool whole_pages(const void *start, size_t len) {
    return len > 0 && is_aligned((uintptr_t)start | len, os_facts.page);
}

/* Counts a call; false: it shall fail. */
static bool goes_through(enum verb verb, size_t len) {
    if (passing)
        return true;
    calls[verb]++;
    bytes[verb] += len;
    if (verb >= VERB_FALLIBLE)
        return true;
    fallible++;
    bool fails = fail_always[verb] || (fail_first != 0 && fallible >= fail_first && fallible <= fail_last);
    failures += fails;
    return !fails;
}

static size_t break_bytes_mapped(void) {
    return (size_t)(ptr_align_up(break_now, os_facts.page) - ptr_align_up(break_base, os_facts.page));
}

static bool within_limit(size_t more) {
    return passing || limit == SIZE_MAX ||
           ranges_bytes(RANGE_ACCESSIBLE) + break_bytes_mapped() + more <= limit;
}

static void record(void *start, size_t len, enum range_state state) {
    if (!passing)
        ranges_set((uintptr_t)start, (uintptr_t)start + len, state);
}

static bool all_in_state(const void *start, size_t len, enum range_state state) {
    return passing || ranges_all((uintptr_t)start, (uintptr_t)start + len, state);
}

/* ---- real memory ---- */

static void must(int ret) {
    if (ret != 0) {
        perror("os double");
        abort();
    }
}

/* Pages aligned to the page size that the core believes in. */
static char *map_real(void *hint, size_t len, int prot) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *p = mmap(hint, len, prot, flags, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (ptr_is_aligned(p, os_facts.page))
        return p;
    munmap(p, len);
    p = mmap(NULL, len + os_facts.page, prot, flags, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    char *start = ptr_align_up(p, os_facts.page);
    if (start > p)
        must(munmap(p, (size_t)(start - p)));
    must(munmap(start + len, os_facts.page - (size_t)(start - p)));
    return start;
}

static void take_pages_away(void *start, size_t len, int prot) {
    void *p = mmap(start, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (p != start)
        must(-1);
}

/* ---- the verbs ---- */

static void *map_counted(size_t len, int huge_flags) {
    require(whole_pages(NULL, len), "os_map", NULL, len);
    if (!passing)
        last_huge_flags = huge_flags;
    if (!goes_through(VERB_MAP, len) || !within_limit(len) || (huge_flags != 0 && !huge_pages))
        return NULL;
    char *p = map_real(NULL, len, PROT_READ | PROT_WRITE);
    if (p != NULL)
        record(p, len, RANGE_ACCESSIBLE);
    return p;
}

void *os_map(size_t len, int huge_flags) {
    int saved = errno;
    counter_add(COUNT_SYS_MMAP, 1);
    enter();
    void *p = map_counted(len, huge_flags);
    leave();
    errno = saved;
    return p;
}

void *os_reserve(void *hint, size_t len) {
    int saved = errno;
    counter_add(COUNT_SYS_MMAP, 1);
    enter();
    require(whole_pages(hint, len), "os_reserve", hint, len);
    char *p = goes_through(VERB_RESERVE, len) ? map_real(hint, len, PROT_NONE) : NULL;
    if (p != NULL)
        record(p, len, RANGE_RESERVED);
    leave();
    errno = saved;
    return p;
}

bool os_unmap(void *start, size_t len) {
    int saved = errno;
    counter_add(COUNT_SYS_MUNMAP, 1);
    enter();
    require(whole_pages(start, len) &&
                (passing || ranges_known((uintptr_t)start, (uintptr_t)start + len)),
            "os_unmap", start, len);
    bool ok = goes_through(VERB_UNMAP, len);
    if (ok) {
        record(start, len, RANGE_NONE);
        must(munmap(start, len));
    } else {
        ranges_refuse((uintptr_t)start, (uintptr_t)start + len);
    }
    leave();
    errno = saved;
    return ok;
}

bool os_commit(void *start, size_t len) {
    int saved = errno;
    counter_add(COUNT_SYS_MPROTECT, 1);
    enter();
    require(whole_pages(start, len) && all_in_state(start, len, RANGE_RESERVED), "os_commit", start, len);
    bool ok = goes_through(VERB_COMMIT, len) && within_limit(len);
    if (ok) {
        must(mprotect(start, len, PROT_READ | PROT_WRITE));
        record(start, len, RANGE_ACCESSIBLE);
    }
    leave();
    errno = saved;
    return ok;
}

bool os_decommit(void *start, size_t len) {
    int saved = errno;
    counter_add(COUNT_SYS_MMAP, 1);
    enter();
    require(whole_pages(start, len) && all_in_state(start, len, RANGE_ACCESSIBLE), "os_decommit", start,
            len);
    bool ok = goes_through(VERB_DECOMMIT, len);
    if (ok) {
        take_pages_away(start, len, PROT_NONE);
        record(start, len, RANGE_RESERVED);
    }
    leave();
    errno = saved;
    return ok;
}

static bool in_break(const char *p, size_t len) {
    return break_base != NULL && p >= break_base && p + len <= ptr_align_up(break_now, os_facts.page);
}

/* The break may continue a mapping that happens to end where it starts. */
static bool touchable(const void *start, size_t len) {
    const char *from = start;
    if (!passing && break_base != NULL && from < break_base && from + len > break_base &&
        in_break(break_base, (size_t)(from + len - break_base)))
        len = (size_t)(break_base - from);
    return passing || in_break(start, len) || all_in_state(start, len, RANGE_ACCESSIBLE);
}

bool os_purge(void *start, size_t len) {
    int saved = errno;
    counter_add(COUNT_SYS_MADVISE, 1);
    enter();
    require(whole_pages(start, len) && touchable(start, len), "os_purge", start, len);
    bool ok = goes_through(VERB_PURGE, len);
    if (ok && !purge_leaves)
        must(madvise(start, len, MADV_DONTNEED));
    leave();
    errno = saved;
    return ok;
}

/* A longer one stays where it is if the kernel can do that, else moves to where its alignment is right. */
static char *remap_real(char *start, size_t old_len, size_t new_len) {
    if (os_facts.page == (size_t)sysconf(_SC_PAGESIZE)) {
        char *p = mremap(start, old_len, new_len, MREMAP_MAYMOVE);
        return p != MAP_FAILED ? p : NULL;
    }
    if (mremap(start, old_len, new_len, 0) != MAP_FAILED)
        return start;
    char *target = map_real(NULL, new_len, PROT_NONE);
    if (target == NULL)
        return NULL;
    char *p = mremap(start, old_len, new_len, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    if (p == MAP_FAILED)
        must(-1);
    return p;
}

void *os_remap(void *start, size_t old_len, size_t new_len) {
    int saved = errno;
    counter_add(COUNT_SYS_MREMAP, 1);
    enter();
    require(whole_pages(start, old_len) && whole_pages(start, new_len) &&
                all_in_state(start, old_len, RANGE_ACCESSIBLE),
            "os_remap", start, old_len);
    char *p = NULL;
    if (goes_through(VERB_REMAP, new_len) && (new_len < old_len || within_limit(new_len - old_len)))
        p = remap_real(start, old_len, new_len);
    if (p != NULL) {
        record(start, old_len, RANGE_NONE);
        record(p, new_len, RANGE_ACCESSIBLE);
    }
    leave();
    errno = saved;
    return p;
}

/* Address space will do. */
static bool reserved_at_least(const void *start, size_t len) {
    return touchable(start, len) || ranges_known((uintptr_t)start, (uintptr_t)start + len);
}

static const char *name_of(enum verb verb) {
    return verb == VERB_ADVISE_SMALL ? "os_advise_small" : verb == VERB_POPULATE ? "os_populate" : "os_advise_huge";
}

static bool advise(enum verb verb, void *start, size_t len) {
    int saved = errno;
    counter_add(verb == VERB_POPULATE ? COUNT_SYS_POPULATE : COUNT_SYS_MADVISE, 1);
    enter();
    require(whole_pages(start, len) &&
                (verb == VERB_ADVISE_SMALL ? reserved_at_least(start, len) : touchable(start, len)),
            name_of(verb), start, len);
    bool ok = goes_through(verb, len);
    leave();
    errno = saved;
    return ok;
}

bool os_populate(void *start, size_t len) {
    return advise(VERB_POPULATE, start, len);
}

bool os_advise_huge(void *start, size_t len) {
    return advise(VERB_ADVISE_HUGE, start, len);
}

bool os_advise_small(void *start, size_t len) {
    return advise(VERB_ADVISE_SMALL, start, len);
}

void os_name(void *start, size_t len, const char *name) {
    counter_add(COUNT_SYS_OTHER, 1);
    enter();
    require(whole_pages(start, len) && name[0] != '\0' &&
                (passing || ranges_known((uintptr_t)start, (uintptr_t)start + len)),
            "os_name", start, len);
    (void)goes_through(VERB_NAME, len);
    leave();
}

/* ---- the break ---- */

static void open_break(void) {
    if (break_base != NULL)
        return;
    char *region = mmap(NULL, BREAK_REGION + os_facts.page, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED)
        must(-1);
    break_base = ptr_align_up(region, os_facts.page) + break_offset;
    if (break_offset != 0) /* the page that the program's own data ends in */
        take_pages_away(ptr_align_down(break_base, os_facts.page), os_facts.page, PROT_READ | PROT_WRITE);
    break_now = break_base;
}

static void *move_break(intptr_t delta) {
    char *old = break_now, *wanted = old + delta;
    char *old_end = ptr_align_up(old, os_facts.page), *new_end = ptr_align_up(wanted, os_facts.page);
    if (wanted < break_base || delta > (intptr_t)BREAK_REGION ||
        wanted > break_base + BREAK_REGION - 2 * os_facts.page)
        return NULL;
    if (new_end > old_end && (wall || !within_limit((size_t)(new_end - old_end))))
        return NULL;
    if (new_end > old_end)
        must(mprotect(old_end, (size_t)(new_end - old_end), PROT_READ | PROT_WRITE));
    else if (new_end < old_end)
        take_pages_away(new_end, (size_t)(old_end - new_end), PROT_NONE);
    break_now = wanted;
    return old;
}

void *os_break(intptr_t delta) {
    int saved = errno;
    counter_add(COUNT_SYS_BRK, 1);
    enter();
    open_break();
    void *old = break_now;
    if (delta != 0)
        old = goes_through(VERB_BREAK, delta > 0 ? (size_t)delta : 0) ? move_break(delta) : NULL;
    leave();
    errno = saved;
    return old;
}

void *double_program_sbrk(intptr_t delta) {
    enter();
    open_break();
    void *old = move_break(delta);
    leave();
    return old;
}

/* ---- waiting, the clock, facts, output, signals: as they are, but for a clock that was set ---- */

bool os_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_us) {
    int saved = errno;
    struct timespec t = {.tv_sec = timeout_us / 1000000, .tv_nsec = timeout_us % 1000000 * 1000};
    long ret = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout_us < 0 ? NULL : &t, NULL, 0);
    bool timed_out = ret < 0 && errno == ETIMEDOUT;
    errno = saved;
    return !timed_out;
}

void os_wake(_Atomic uint32_t *word, int count) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
    errno = saved;
}

void os_yield(void) {
    sched_yield();
}

uint64_t os_clock_us(void) {
    uint64_t set = atomic_load_explicit(&clock_us, memory_order_relaxed);
    if (set != 0)
        return set;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t os_recent_us(void) {
    return os_clock_us();
}

void double_clock_advance(uint64_t us) {
    double_set_clock(os_clock_us() + us);
}

void os_read_facts(void) {
    os_facts.page = kernel_facts.page;
    os_facts.cpus = kernel_facts.cpus;
    os_facts.strict_commit = kernel_facts.strict_commit;
    os_facts.secure = kernel_facts.secure;
}

void os_read_huge_page_facts(void) {
    os_facts.thp = kernel_facts.thp;
    os_facts.thp_on_request = kernel_facts.thp_on_request;
    os_facts.hugetlb = kernel_facts.hugetlb;
}

size_t double_memory_high;

size_t os_read_memory_high(void) {
    return double_memory_high;
}

void os_read_usable_cpus(void) {
    os_facts.usable_cpus = kernel_facts.usable_cpus;
}

/* Threads have seats here. */
bool os_restartable(ptrdiff_t *area) {
    (void)area;
    return false;
}

size_t os_cpu_numbers(void) {
    return 0;
}

bool os_random(void *buf, size_t len) {
    counter_add(COUNT_SYS_OTHER, 1);
    enter();
    bool ok = goes_through(VERB_RANDOM, len);
    leave();
    if (ok)
        memset(buf, 0xa5, len); /* a good key, and the same in every run */
    return ok;
}

size_t os_initial_environment(char *buf, size_t cap) {
    (void)cap;
    buf[0] = '\0';
    return 0;
}

void os_write(int fd, const char *text, size_t len) {
    int saved = errno;
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n <= 0)
            break;
        text += n;
        len -= (size_t)n;
    }
    errno = saved;
}

void os_abort(void) {
    abort();
}

void os_block_signals(uint64_t *old) {
    const uint64_t all = ~(uint64_t)0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, old, sizeof all);
}

void os_block_user_signals(uint64_t *old) {
    const uint64_t theirs = ~((uint64_t)3 << 31);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &theirs, old, sizeof theirs);
}

int os_process_id(void) {
    return getpid();
}

void os_name_thread(const char *name) {
    pthread_setname_np(pthread_self(), name);
}

void os_restore_signals(const uint64_t *old) {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, old, NULL, sizeof *old);
}

/* ---- the test's side ---- */

size_t double_calls(enum verb verb) {
    return calls[verb];
}

size_t double_bytes(enum verb verb) {
    return bytes[verb];
}

size_t double_fallible_calls(void) {
    return fallible;
}

void double_count_from_here(void) {
    enter();
    memset(calls, 0, sizeof calls);
    memset(bytes, 0, sizeof bytes);
    fallible = 0;
    leave();
}

void double_fail(size_t first, size_t last) {
    double_count_from_here();
    enter();
    fail_first = first;
    fail_last = last;
    leave();
}

void double_fail_verb(enum verb verb) {
    fail_always[verb] = true;
}

void double_heal(void) {
    enter();
    fail_first = fail_last = 0;
    memset(fail_always, 0, sizeof fail_always);
    failures = 0;
    leave();
}

size_t double_failures(void) {
    return failures;
}

void double_limit(size_t most) {
    limit = most;
}

void double_purge_leaves(bool yes) {
    purge_leaves = yes;
}

void double_set_clock(uint64_t us) {
    atomic_store_explicit(&clock_us, us, memory_order_relaxed);
}

void double_break_starts_at(size_t offset) {
    require(break_base == NULL, "double_break_starts_at", break_base, offset);
    break_offset = offset;
}

void double_wall_above_break(bool yes) {
    wall = yes;
}

size_t double_break_bytes(void) {
    return (size_t)(break_now - break_base);
}

size_t double_accessible(void) {
    return ranges_bytes(RANGE_ACCESSIBLE) + double_break_bytes();
}

size_t double_address_space(void) {
    return double_accessible() + ranges_bytes(RANGE_RESERVED);
}

size_t double_mappings(void) {
    return ranges_count();
}

bool double_is_accessible(const void *p, size_t len) {
    return touchable(p, len);
}

size_t double_refused(void) {
    return ranges_refused_bytes();
}

int double_last_huge_flags(void) {
    return last_huge_flags;
}

void double_has_huge_pages(bool yes) {
    huge_pages = yes;
}

void double_pass_through(void) {
    passing = true;
}

void double_set_facts(const struct os_facts *facts) {
    kernel_facts = *facts;
    os_facts = *facts;
}
