// FIELD 9: a program linked against the library, shared or static, works without anything in its
// environment: start, threads, fork, stdio, exit handlers.
#include "workout.h"
#include <pthread.h>
#include <sys/wait.h>

static void *thread_workout(void *seed) {
    work_out(&the_allocator, (uint64_t)(uintptr_t)seed, 5000);
    return malloc(100); // freed by another thread
}

static void *kept;

static void at_exit(void) {
    free(kept);
    use_every_class();
}

int main(int argc, char **argv) {
    bool is_static = argc > 1 && strcmp(argv[1], "static") == 0;
    if (!is_static)
        require_rung();
    REQUIRE(!getenv("LD_PRELOAD"), "LD_PRELOAD is set, this proves nothing");
    kept = malloc(5000);
    atexit(at_exit);
    work_out(&the_allocator, 1, 20000);
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&t[i], NULL, thread_workout, (void *)(uintptr_t)(i + 2)) == 0,
                "no thread");
    for (int i = 0; i < 4; i++) {
        void *from_thread;
        pthread_join(t[i], &from_thread);
        free(from_thread);
    }
    pid_t pid = fork();
    if (pid == 0) {
        work_out(&the_allocator, 7, 5000);
        _exit(check_result());
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %#x", status);
    FILE *f = tmpfile();
    REQUIRE(f, "no temporary file");
    fprintf(f, "%0*d\n", 20000, 1);
    fclose(f);
    struct mallinfo2 m = mallinfo2();
    CHECK(m.arena == m.uordblks + m.fordblks && m.arena > 0, "mallinfo2: %zu, %zu, %zu", m.arena,
          m.uordblks, m.fordblks);
    if (!is_static)
        check_heap("at the end");
    return check_result();
}
