/* double_free one|later|two: free a block twice, in one thread at once, in one thread with 100 other frees between, or
 * in two threads. A child process does it; the parent prints the signal it died of and what it wrote to stderr. When
 * nothing was noticed, the child says whether both threads are then given the same block. */
#include "probe.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Hidden from the compiler, which would otherwise see the mistake and say so. */
static void *volatile block;
static void *volatile given_to_second;

static void twice_at_once(void) {
    block = malloc(64);
    free(block);
    free(block);
}

static void twice_later(void) {
    void *others[100];
    for (int i = 0; i < 100; i++)
        others[i] = malloc(100);
    block = malloc(64);
    free(block);
    for (int i = 0; i < 100; i++)
        free(others[i]);
    free(block);
}

static void *second_thread(void *unused) {
    (void)unused;
    free(block);
    given_to_second = malloc(64);
    return NULL;
}

static void twice_in_two_threads(void) {
    pthread_t thread;
    block = malloc(64);
    void *mine = block;
    free(block);
    if (pthread_create(&thread, NULL, second_thread, NULL) != 0)
        fail("no thread could be started");
    pthread_join(thread, NULL);
    void *given_to_first = malloc(64);
    say("both_given_the_same_block=%d", given_to_first == mine && given_to_second == mine);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    void (*misuse)(void) = strcmp(how, "one") == 0     ? twice_at_once
                           : strcmp(how, "later") == 0 ? twice_later
                           : strcmp(how, "two") == 0   ? twice_in_two_threads
                                                       : NULL;
    if (misuse == NULL)
        fail("say one, later or two");
    int ends[2];
    if (pipe(ends) != 0)
        fail("no pipe");
    pid_t child = fork();
    if (child < 0)
        fail("fork failed");
    if (child == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDERR_FILENO);
        misuse();
        _exit(0);
    }
    close(ends[1]);
    char message[512];
    size_t length = 0;
    for (ssize_t got; length < sizeof message - 1; length += (size_t)got)
        if ((got = read(ends[0], message + length, sizeof message - 1 - length)) <= 0)
            break;
    message[length] = '\0';
    message[strcspn(message, "\n")] = '\0';
    int status;
    if (waitpid(child, &status, 0) != child)
        fail("the child was lost");
    say("signal=%d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    say("message=%s", message);
    return 0;
}
