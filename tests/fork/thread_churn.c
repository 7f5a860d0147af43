// Forks while other threads create and end threads as fast as they can: caches are set up and taken
// apart, arenas bound and parked, at the moment of the fork.
#include "fork.h"

enum { CREATORS = 2, FORKS = 150 };

static atomic_bool must_end;
static atomic_long lives;

static void *short_life(void *unused) {
    void *mem[30];
    for (size_t i = 0; i < 30; i++)
        mem[i] = malloc(i * 90);
    for (size_t i = 0; i < 30; i++)
        free(mem[i]);
    lives++;
    return unused;
}

static void *creator(void *unused) {
    while (!must_end) {
        pthread_t t[4];
        for (int i = 0; i < 4; i++)
            REQUIRE(pthread_create(&t[i], NULL, short_life, NULL) == 0, "no thread");
        for (int i = 0; i < 4; i++)
            pthread_join(t[i], NULL);
    }
    return unused;
}

static void child(void) {
    alarm(CHILD_SECONDS);
    exercise_heap("in the child");
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&t[i], NULL, short_life, NULL) == 0, "no thread in the child");
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    exercise_heap("in the child after its threads");
    end_child();
}

int main(void) {
    require_rung();
    pthread_t t[CREATORS];
    for (int i = 0; i < CREATORS; i++)
        REQUIRE(pthread_create(&t[i], NULL, creator, NULL) == 0, "no thread");
    const int forks = share_of(FORKS);
    for (int n = 0; n < forks && !check_failures; n++) {
        long before = lives;
        while (lives < before + 5) // the forks are spread over many lives
            sched_yield();
        pid_t pid = fork();
        REQUIRE(pid >= 0, "fork %d: errno %d", n, errno);
        if (pid == 0)
            child();
        use_every_class();
        await_child(pid, "child");
    }
    must_end = true;
    for (int i = 0; i < CREATORS; i++)
        pthread_join(t[i], NULL);
    say("%d forks beside %ld short threads", forks, (long)lives);
    exercise_heap("in the parent at the end");
    return check_result();
}
