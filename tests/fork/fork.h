// What parent and child do after each fork: every size class and the whole-heap check; and how a
// test waits for children without waiting for ever.
#ifndef TESTS_FORK_FORK_H
#define TESTS_FORK_FORK_H

#include "workout.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

// A child that hangs is ended by its own alarm and so is told from one that works.
enum { CHILD_SECONDS = 20 };

static inline void exercise_heap(const char *who) {
    use_every_class();
    check_heap(who);
}

_Noreturn static inline void end_child(void) {
    _exit(check_failures ? 3 : 0);
}

static inline void await_child(pid_t pid, const char *what) {
    int status = -1;
    while (waitpid(pid, &status, 0) < 0)
        REQUIRE(errno == EINTR, "%s: waitpid: errno %d", what, errno);
    CHECK(!(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM), "%s: the child hangs", what);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: the child ended with %#x", what,
          status);
}

static inline void nap(long microseconds) {
    struct timespec t = {0, microseconds * 1000};
    nanosleep(&t, NULL);
}

#endif
