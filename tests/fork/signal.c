// FIELD 26: fork inside a signal handler that interrupted the allocator, with its structures half
// changed and its locks held by the very
// thread that forks. The handler forks only when the interrupted instruction lies in the library
// that malloc comes from, so every fork
// counts.
// usage: signal single|threads leave|go_on
//   leave   the child ends in the handler, by _exit or by exec
//   go_on   the child returns from the handler, finishes the interrupted call and goes on
//   allocating
#include "fork.h"
#include <link.h>
#include <ucontext.h>

enum { FORKS = 300, WORKERS = 4, AT_ONCE = 3, LARGE_BLOCKS = 32 };

static int forks_wanted;
static bool child_goes_on;
static char *program;
static atomic_int forks, reaped;
static atomic_bool must_end;
static __thread volatile int steps_left = -1; // in a child that goes on

static struct { uintptr_t from, to; } code[8];
static size_t code_ranges;

static int note_code(struct dl_phdr_info *info, size_t size, void *base) {
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && p->p_offset == 0 && from != (uintptr_t)base)
            return 0; // another object
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && code_ranges < 8) {
            code[code_ranges].from = from;
            code[code_ranges++].to = from + p->p_memsz;
        }
    }
    return 0;
}

static void find_allocator_code(void) {
    Dl_info info;
    REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info), "nobody knows malloc");
    dl_iterate_phdr(note_code, info.dli_fbase);
    REQUIRE(code_ranges > 0, "%s has no code", info.dli_fname);
}

static bool in_allocator(const ucontext_t *context) {
#if defined(__x86_64__)
    uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    uintptr_t pc = context->uc_mcontext.pc;
#else
#error "where is the program counter?"
#endif
    for (size_t i = 0; i < code_ranges; i++)
        if (pc >= code[i].from && pc < code[i].to)
            return true;
    return false;
}

static void fork_in_handler(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number;
    (void)info;
    int saved = errno;
    if (steps_left >= 0 || !in_allocator(context))
        return;
    int n = atomic_load(&forks);
    if (n >= forks_wanted || n - reaped >= AT_ONCE || !atomic_compare_exchange_strong(&forks, &n, n + 1))
        return;
    pid_t pid = fork();
    REQUIRE(pid >= 0, "fork %d: errno %d", n, errno);
    if (pid == 0) {
        alarm(CHILD_SECONDS);
        if (child_goes_on) {
            steps_left = 300;
        } else if (n % 2) {
            char *const argv[] = {program, NULL};
            execv(program, argv);
            _exit(4);
        } else {
            _exit(0);
        }
    }
    errno = saved;
}

static void end_child_in_time(struct workout *w) {
    if (steps_left < 0 || --steps_left > 0)
        return;
    workout_end(w);
    exercise_heap("in the child");
    end_child();
}

// Mostly sizes that no cache holds, so that the interrupted call is likely to be one that holds a
// lock.
static void work(uint64_t seed) {
    struct workout w = {.with = &the_allocator, .state = seed};
    void *large[LARGE_BLOCKS] = {0};
    while (!must_end) {
        workout_step(&w);
        for (int i = 0; i < 8; i++) {
            size_t k = next_random(&w.state) % LARGE_BLOCKS;
            free(large[k]);
            large[k] = malloc(1100 + next_random(&w.state) % 5000);
            REQUIRE(large[k], "no memory");
        }
        end_child_in_time(&w);
        if (check_failures)
            break;
    }
    for (int i = 0; i < LARGE_BLOCKS; i++)
        free(large[i]);
    workout_end(&w);
}

static void reap(bool wait_for_one) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, wait_for_one ? 0 : WNOHANG)) > 0) {
        CHECK(!(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM), "a child hangs");
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child ended with %#x", status);
        reaped++;
        if (wait_for_one)
            return;
    }
}

static void *worker(void *seed) {
    work((uint64_t)(uintptr_t)seed);
    return NULL;
}

static pthread_t worker_thread[WORKERS];

// In one thread, a timer interrupts; the same thread collects the children between its calls.
static void run_single(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec interval = {{0, 130000}, {0, 130000}};
    REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "no timer: errno %d", errno);
    REQUIRE(timer_settime(timer, 0, &interval, NULL) == 0, "timer_settime: errno %d", errno);
    struct workout w = {.with = &the_allocator, .state = 1};
    void *large[LARGE_BLOCKS] = {0};
    while ((forks < forks_wanted || steps_left >= 0) && !check_failures) {
        workout_step(&w);
        size_t k = next_random(&w.state) % LARGE_BLOCKS;
        free(large[k]);
        large[k] = malloc(1100 + next_random(&w.state) % 5000);
        end_child_in_time(&w);
        if (steps_left < 0 && reaped < forks)
            reap(false);
    }
    timer_delete(timer);
    for (int i = 0; i < LARGE_BLOCKS; i++)
        free(large[i]);
    workout_end(&w);
}

// With several threads, the main one interrupts them in turn and never calls the allocator.
static void run_threads_of_work(void) {
    for (int i = 0; i < WORKERS; i++)
        REQUIRE(pthread_create(&worker_thread[i], NULL, worker, (void *)(uintptr_t)(i + 1)) == 0,
                "no thread");
    for (unsigned turn = 0; forks < forks_wanted && !check_failures; turn++) {
        pthread_kill(worker_thread[turn % WORKERS], SIGUSR1);
        nap(30);
        reap(false);
    }
    must_end = true;
    for (int i = 0; i < WORKERS; i++)
        pthread_join(worker_thread[i], NULL);
}

int main(int argc, char **argv) {
    if (argc == 1)
        return 0; // this is what a child execs
    REQUIRE(argc == 3, "usage: %s single|threads leave|go_on", argv[0]);
    bool threads = strcmp(argv[1], "threads") == 0;
    if (threads && on_host_malloc())
        SKIP("the system's malloc deadlocks here: it locks its arenas for the fork, one of which "
             "the thread holds");
    require_rung();
    forks_wanted = share_of(FORKS);
    program = argv[0];
    child_goes_on = strcmp(argv[2], "go_on") == 0;
    find_allocator_code();
    struct sigaction action = {.sa_sigaction = fork_in_handler,
                               .sa_flags = SA_SIGINFO | SA_RESTART};
    REQUIRE(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction: errno %d", errno);
    if (threads)
        run_threads_of_work();
    else
        run_single();
    while (reaped < forks)
        reap(true);
    say("%d forks within the allocator", forks);
    exercise_heap("in the parent at the end");
    return check_result();
}
