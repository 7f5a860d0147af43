// FIELD 27: posix_spawn, and vfork followed by malloc and an exec that fails: the child runs in the
// parent's memory, and the parent is intact afterwards, in one thread and in several.
#include "workout.h"
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static char *program;

static void expect_exit(pid_t pid, int code, const char *what) {
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == code, "%s: status %#x, expected exit %d",
          what, status, code);
}

static void spawn_once(void) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *const argv[] = {program, (char[]){"child"}, NULL};
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_init(&attributes);
    int status = posix_spawn(&pid, program, &actions, &attributes, argv, environ);
    REQUIRE(status == 0, "posix_spawn: %d", status);
    expect_exit(pid, 5, "posix_spawn");
    status = posix_spawnp(&pid, "/there/is/no/such/program", &actions, &attributes, argv, environ);
    CHECK(status == ENOENT, "posix_spawn of nothing: %d", status);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
}

// What an old-fashioned spawn library does between vfork and exec: it builds its arguments with
// malloc.
static void vfork_once(size_t n) {
    void *volatile in_child[20];
    pid_t pid = vfork();
    REQUIRE(pid >= 0, "vfork: errno %d", errno);
    if (pid == 0) {
        for (size_t i = 0; i < 20; i++) {
            in_child[i] = malloc(10 + i * i * n % 100000);
            if (!in_child[i])
                _exit(3);
            memset(in_child[i], 1, 10);
        }
        for (size_t i = 0; i < 20; i += 2) {
            free(in_child[i]);
            in_child[i] = NULL;
        }
        char *const argv[] = {program, NULL};
        execve("/there/is/no/such/program", argv, environ);
        _exit(4);
    }
    expect_exit(pid, 4, "vfork");
    for (size_t i = 0; i < 20; i++) // the memory is shared, so the rest is the parent's to free
        free(in_child[i]);
}

static void mix(uint64_t seed) {
    for (size_t i = 0; i < 30; i++) {
        work_out(&the_allocator, seed + i, 300);
        vfork_once(i + 1);
        if (i % 3 == 0)
            spawn_once();
        use_every_class();
    }
}

static void *mix_in_thread(void *seed) {
    mix((uint64_t)(uintptr_t)seed);
    return NULL;
}

static volatile bool busy_must_end;

static void *busy(void *seed) {
    for (uint64_t s = (uint64_t)(uintptr_t)seed; !busy_must_end; s++)
        work_out(&the_allocator, s, 500);
    return NULL;
}

int main(int argc, char **argv) {
    require_rung();
    if (argc > 1) {
        work_out(&the_allocator, 3, 500);
        return check_result() ? 1 : 5;
    }
    program = argv[0];
    mix(1);
    check_heap("after vfork in one thread");
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&t[i], NULL, i < 2 ? busy : mix_in_thread,
                               (void *)(uintptr_t)(i * 1000)) == 0,
                "no thread");
    pthread_join(t[2], NULL);
    pthread_join(t[3], NULL);
    busy_must_end = true;
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    check_heap("after vfork in several threads");
    return check_result();
}
