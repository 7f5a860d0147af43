/* trace PROGRAM [ARG...]: run a lab program and print the memory system calls it makes, phase by phase.
 *
 * A phase begins where the program calls mark() (a write to a descriptor that is never open); what comes before the
 * first mark, the loader's work, is not printed. Lines: "mark=PHASE", "call=NAME ARGUMENT=VALUE... ret=VALUE", in
 * the order the calls were made, in all threads. Options before PROGRAM of the form NAME=VALUE are put into its
 * environment only, so that the tracer itself runs under the plain allocator. Exit status: the program's own; 77
 * when the machine does not let one process trace another. */
#include "probe.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is printed of each call: the names of its arguments, NULL for one that is left out. */
static const struct shown_call {
    long number;
    const char *name;
    const char *arguments[5];
} shown_calls[] = {
    {SYS_brk, "brk", {"addr"}},
    {SYS_mmap, "mmap", {"addr", "len", "prot", "flags"}},
    {SYS_munmap, "munmap", {"addr", "len"}},
    {SYS_mprotect, "mprotect", {"addr", "len", "prot"}},
    {SYS_madvise, "madvise", {"addr", "len", "advice"}},
    {SYS_mremap, "mremap", {"addr", "len", "new_len", "flags"}},
};

/* A thread between the entry of a system call and its exit. */
struct pending {
    pid_t thread;
    const struct shown_call *call;
    uint64_t arguments[6];
};

#define MAX_THREADS 512
static struct pending pending[MAX_THREADS];
static bool marked;

static struct pending *pending_of(pid_t thread) {
    struct pending *unused = NULL;
    for (size_t i = 0; i < MAX_THREADS; i++) {
        if (pending[i].thread == thread)
            return &pending[i];
        if (pending[i].thread == 0 && unused == NULL)
            unused = &pending[i];
    }
    if (unused == NULL)
        fail("more threads than the tracer has room for");
    *unused = (struct pending){.thread = thread};
    return unused;
}

static const struct shown_call *shown(uint64_t number) {
    for (size_t i = 0; i < sizeof shown_calls / sizeof shown_calls[0]; i++)
        if ((uint64_t)shown_calls[i].number == number)
            return &shown_calls[i];
    return NULL;
}

static void print_mark(pid_t thread, uint64_t address, uint64_t length) {
    char phase[256];
    if (length > sizeof phase - 1)
        length = sizeof phase - 1;
    struct iovec here = {phase, length}, there = {(void *)(uintptr_t)address, length};
    ssize_t got = process_vm_readv(thread, &here, 1, &there, 1, 0);
    if (got < 0)
        fail("the traced program's memory cannot be read");
    phase[got] = '\0';
    marked = true;
    say("mark=%s", phase);
}

static void print_call(const struct pending *made, int64_t result) {
    char line[512];
    int length = snprintf(line, sizeof line, "call=%s", made->call->name);
    for (size_t i = 0; i < 5 && made->call->arguments[i] != NULL; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, " %s=%#llx",
                           made->call->arguments[i], (unsigned long long)made->arguments[i]);
    say("%s ret=%#llx", line, (unsigned long long)result);
}

static void at_system_call(pid_t thread) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) < 0)
        return; /* killed meanwhile: its exit is reported next */
    struct pending *made = pending_of(thread);
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        if (info.entry.nr == SYS_write && (int)info.entry.args[0] == MARK_DESCRIPTOR)
            print_mark(thread, info.entry.args[1], info.entry.args[2]);
        made->call = shown(info.entry.nr);
        memcpy(made->arguments, info.entry.args, sizeof made->arguments);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && made->call != NULL) {
        if (marked)
            print_call(made, info.exit.rval);
        made->call = NULL;
    }
}

static void forget(pid_t thread) {
    for (size_t i = 0; i < MAX_THREADS; i++)
        if (pending[i].thread == thread)
            pending[i].thread = 0;
}

/* Follow every thread until the program ends; returns its exit status, shell style. */
static int follow(pid_t program) {
    for (;;) {
        int status;
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0)
            fail("the traced program was lost");
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            forget(thread);
            if (thread == program)
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int signal = WSTOPSIG(status), event = status >> 16;
        if (signal == (SIGTRAP | 0x80)) {
            at_system_call(thread);
            signal = 0;
        } else if (event != 0 || signal == SIGSTOP) {
            signal = 0; /* a new thread, or its first stop */
        }
        ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(intptr_t)signal);
    }
}

int main(int argc, char **argv) {
    int first = 1;
    while (first < argc && strchr(argv[first], '=') != NULL)
        first++;
    if (first >= argc) {
        fprintf(stderr, "usage: %s [NAME=VALUE...] PROGRAM [ARG...]\n", argv[0]);
        return 2;
    }
    pid_t program = fork();
    if (program < 0)
        fail("fork failed");
    if (program == 0) {
        for (int i = 1; i < first; i++)
            putenv(argv[i]);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(77);
        raise(SIGSTOP);
        execv(argv[first], argv + first);
        fprintf(stderr, "%s: %s\n", argv[first], strerror(errno));
        _exit(127);
    }
    int status;
    if (waitpid(program, &status, 0) != program || !WIFSTOPPED(status))
        skip("this machine does not let one process trace another (ptrace)");
    long options =
        PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC;
    if (ptrace(PTRACE_SETOPTIONS, program, NULL, (void *)options) < 0)
        skip("this machine's ptrace cannot follow threads");
    ptrace(PTRACE_SYSCALL, program, NULL, NULL);
    return follow(program);
}
