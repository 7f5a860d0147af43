/* count-calls FILE PROGRAM [ARGUMENT...]: runs the program and writes to FILE, as one JSON object,
 * how often it and its threads and children called each of the kernel's memory calls. Its output
 * and its exit status are the program's own.
 *
 * A seccomp filter stops the program at exactly these calls, everything else runs at full speed.
 * The filter hands over the index of the call in `calls`, so no register has to be read and the
 * program is the same on every architecture. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"brk", SYS_brk},       {"mmap", SYS_mmap},         {"munmap", SYS_munmap},
    {"mremap", SYS_mremap}, {"mprotect", SYS_mprotect}, {"madvise", SYS_madvise},
};
#define CALLS (sizeof calls / sizeof calls[0])

static unsigned long counts[CALLS];

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "count-calls: %s: %s%s\n", what, strerror(errno),
            errno == EPERM || errno == EACCES ? " (ptrace is forbidden here: allow it in the "
                                                "container, or set kernel.yama.ptrace_scope to 1)"
                                              : "");
    exit(125);
}

static void install_filter(void) {
    struct sock_filter filter[1 + 2 * CALLS + 1];
    unsigned short n = 0;
    filter[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < CALLS; i++) {
        filter[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | i);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = n, .filter = filter};
    /* Without new privileges a process may filter itself without being root. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        fail("cannot install a seccomp filter");
}

/* Waits until the parent traces us: a filter without a tracer would make the calls fail. */
static _Noreturn void become(char **command, int go) {
    char byte;
    if (read(go, &byte, 1) != 1)
        _exit(125); /* the parent has said why */
    close(go);
    install_filter();
    execvp(command[0], command);
    fprintf(stderr, "count-calls: cannot run %s: %s\n", command[0], strerror(errno));
    _exit(127);
}

/* Lets a stopped thread go on. It may be gone by now; then waitpid reports that. */
static void resume(pid_t thread, int signal) {
    ptrace(PTRACE_CONT, thread, NULL, (void *)(long)signal);
}

static void handle_stop(pid_t thread, int status) {
    int event = status >> 16;
    unsigned long message = 0;
    if (event == PTRACE_EVENT_SECCOMP) {
        ptrace(PTRACE_GETEVENTMSG, thread, NULL, &message);
        if (message < CALLS)
            counts[message]++;
    }
    /* An event stop is ptrace's own; every other stop is a signal on its way to the program. */
    resume(thread, event != 0 ? 0 : WSTOPSIG(status));
}

/* Until the last of the program's processes is gone; returns the wait status of the first. */
static int trace_all(pid_t first) {
    int status, first_status = 0;
    pid_t thread;
    while ((thread = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (thread < 0)
            continue;
        if (WIFSTOPPED(status))
            handle_stop(thread, status);
        else if (thread == first)
            first_status = status;
    }
    return first_status;
}

static void write_counts(const char *path) {
    FILE *file = fopen(path, "w");
    if (file == NULL)
        fail(path);
    for (unsigned i = 0; i < CALLS; i++)
        fprintf(file, "%s\"%s\": %lu", i == 0 ? "{" : ", ", calls[i].name, counts[i]);
    fprintf(file, "}\n");
    if (fclose(file) != 0)
        fail(path);
}

int main(int argc, char **argv) {
    int go[2];
    if (argc < 3) {
        fprintf(stderr, "usage: count-calls FILE PROGRAM [ARGUMENT...]\n");
        return 125;
    }
    if (pipe(go) != 0)
        fail("pipe");
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        close(go[1]);
        become(argv + 2, go[0]);
    }
    close(go[0]);
    long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE |
                   PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
    if (ptrace(PTRACE_SEIZE, child, NULL, (void *)options) != 0)
        fail("cannot trace");
    if (write(go[1], "", 1) != 1)
        fail("pipe");
    close(go[1]);

    int status = trace_all(child);
    write_counts(argv[1]);
    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    return WEXITSTATUS(status);
}
