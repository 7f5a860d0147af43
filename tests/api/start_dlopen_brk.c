// FIELD 9: beside the malloc of the program, a library opened with dlopen does not move the program
// break: two allocators that each take their own lock around it would lose each other's memory.
#include "workout.h"
#include <pthread.h>

enum { BLOCKS = 300, SIZE = 40000, ROUNDS = 300 };

static struct allocator opened;

static void *look_up(void *library, const char *name) {
    void *f = dlsym(library, name);
    Dl_info origin;
    REQUIRE(f, "no %s in the library: %s", name, dlerror());
    REQUIRE(dladdr(f, &origin) && strstr(origin.dli_fname, "librung"),
            "%s is %s's: the search went on to the libraries behind", name, origin.dli_fname);
    return f;
}

// Grows and shrinks whatever the blocks come from, again and again, and looks after every byte.
static void swing(void *(*allocate)(size_t), void (*release)(void *), unsigned char mark) {
    static __thread unsigned char *mem[BLOCKS];
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = (size_t)(round * 37) % BLOCKS + 1;
        for (size_t i = 0; i < n; i++) {
            mem[i] = allocate(SIZE);
            REQUIRE(mem[i], "no memory: errno %d", errno);
            memset(mem[i], mark, 200);
            mem[i][SIZE - 1] = mark;
        }
        for (size_t i = n; i-- > 0;) {
            workout_verify(mem[i], 0, 200, mark, "another allocator's neighbour");
            CHECK(mem[i][SIZE - 1] == mark, "the end of block %zu was overwritten", i);
            release(mem[i]);
        }
    }
}

static void *swing_own(void *unused) {
    swing(malloc, free, 9);
    return unused;
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2, "usage: %s librung.so", argv[0]);
    REQUIRE(!comes_from_rung("malloc"), "malloc is already the library's, this proves nothing");
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library, "%s", dlerror());
    void *f[] = {look_up(library, "malloc"), look_up(library, "free")};
    memcpy(&opened.malloc, &f[0], sizeof f[0]);
    memcpy(&opened.free, &f[1], sizeof f[1]);

    void *before = sbrk(0);
    void *mem = opened.malloc(100000);
    CHECK(sbrk(0) == before, "the break moved by %td bytes", (char *)sbrk(0) - (char *)before);
    opened.free(mem);

    // The main thread uses the library's main arena, another one that of the program's malloc.
    REQUIRE(mallopt(M_ARENA_MAX, 1) == 1, "mallopt");
    pthread_t t;
    REQUIRE(pthread_create(&t, NULL, swing_own, NULL) == 0, "no thread");
    swing(opened.malloc, opened.free, 7);
    pthread_join(t, NULL);
    return check_result();
}
