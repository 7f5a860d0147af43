/* known-calls N: N mmap calls in the first thread, N in a second one and N in a child, each with
 * its munmap. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *map_and_unmap(void *count) {
    for (int i = 0; i < *(int *)count; i++) {
        void *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mem == MAP_FAILED || munmap(mem, 4096) != 0)
            _exit(1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 0, status;
    pthread_t thread;
    map_and_unmap(&count);
    if (pthread_create(&thread, NULL, map_and_unmap, &count) != 0 ||
        pthread_join(thread, NULL) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        map_and_unmap(&count);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return 1;
    puts("done");
    return 42; /* so that the test sees whose status it gets */
}
