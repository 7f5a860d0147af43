// Runs a function, or a program, in a process of its own and says how it ended and what it wrote.
#ifndef TESTS_API_CHILD_H
#define TESTS_API_CHILD_H

#include "check.h"
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

struct outcome {
    int status;     // as waitpid gives it
    char out[8192]; // what came through standard output
    char err[8192]; // what came through standard error
};

struct child_job {
    void (*run)(void *arg); // run in a forked child; returning means _exit(0)
    void *arg;
    char *const *argv; // or: execve this, with `envp`
    char *const *envp;
};

static inline void child_collect(int fd, char *buf, size_t size, size_t *used, bool *open_) {
    char sink[512];
    bool room = *used + 1 < size;
    ssize_t n = read(fd, room ? buf + *used : sink, room ? size - 1 - *used : sizeof sink);
    if (n <= 0)
        *open_ = false;
    else if (room)
        *used += (size_t)n;
}

// A child that hangs is ended by its own alarm, so the outcome is SIGALRM and not a blocked test.
static inline void run_child(const struct child_job *job, struct outcome *o) {
    int out[2], err[2];
    memset(o, 0, sizeof *o);
    REQUIRE(pipe(out) == 0 && pipe(err) == 0, "no pipes left: errno %d", errno);
    pid_t pid = fork();
    REQUIRE(pid >= 0, "fork failed: errno %d", errno);
    if (pid == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        close(out[0]);
        close(err[0]);
        close(out[1]);
        close(err[1]);
        check_failures = 0;
        alarm(30);
        if (job->argv) {
            execve(job->argv[0], job->argv, job->envp);
            say("execve %s: errno %d", job->argv[0], errno);
            _exit(127);
        }
        job->run(job->arg);
        _exit(0);
    }
    close(out[1]);
    close(err[1]);
    size_t used_out = 0, used_err = 0;
    bool out_open = true, err_open = true;
    while (out_open || err_open) {
        struct pollfd p[2] = {{out_open ? out[0] : -1, POLLIN, 0},
                              {err_open ? err[0] : -1, POLLIN, 0}};
        if (poll(p, 2, -1) < 0)
            continue;
        if (p[0].revents)
            child_collect(out[0], o->out, sizeof o->out, &used_out, &out_open);
        if (p[1].revents)
            child_collect(err[0], o->err, sizeof o->err, &used_err, &err_open);
    }
    close(out[0]);
    close(err[0]);
    while (waitpid(pid, &o->status, 0) < 0 && errno == EINTR)
        ;
}

static inline void run_function(void (*run)(void *), void *arg, struct outcome *o) {
    struct child_job job = {run, arg, NULL, NULL};
    run_child(&job, o);
}

static inline bool exited_with(const struct outcome *o, int code) {
    return WIFEXITED(o->status) && WEXITSTATUS(o->status) == code;
}

static inline bool killed_by(const struct outcome *o, int signal_number) {
    return WIFSIGNALED(o->status) && WTERMSIG(o->status) == signal_number;
}

static inline const char *ending(const struct outcome *o) {
    static char text[64];
    if (WIFSIGNALED(o->status))
        snprintf(text, sizeof text, "killed by signal %d (%s)", WTERMSIG(o->status),
                 strsignal(WTERMSIG(o->status)));
    else
        snprintf(text, sizeof text, "exit status %d", WEXITSTATUS(o->status));
    return text;
}

#endif
