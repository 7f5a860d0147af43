// FIELD 9: a running program opens the library with dlopen and uses its functions beside its own
// malloc: from threads older and younger than the library, which end after dlclose.
#include "workout.h"
#include <pthread.h>

static struct allocator opened;
static pthread_barrier_t older_runs, all_used_it, closed;

static void *look_up(void *library, const char *name) {
    void *f = dlsym(library, name);
    Dl_info origin;
    REQUIRE(f, "no %s in the library: %s", name, dlerror());
    REQUIRE(dladdr(f, &origin) && strstr(origin.dli_fname, "librung"),
            "%s is %s's: the search went on to the libraries behind", name, origin.dli_fname);
    return f;
}

static void open_library(void **library, const char *path) {
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(*library, "%s", dlerror());
    void *f[] = {look_up(*library, "malloc"),   look_up(*library, "free"),
                 look_up(*library, "calloc"),   look_up(*library, "realloc"),
                 look_up(*library, "memalign"), look_up(*library, "malloc_usable_size")};
    _Static_assert(sizeof f == sizeof opened, "one pointer a function");
    memcpy(&opened, f, sizeof opened);
    REQUIRE(opened.malloc != malloc || on_host_malloc(),
            "the library is already loaded, this proves nothing");
}

static void use_and_outlive(uint64_t seed) {
    work_out(&opened, seed, 5000);
    work_out(&the_allocator, seed, 5000);
    pthread_barrier_wait(&all_used_it);
    pthread_barrier_wait(&closed);
    work_out(&the_allocator, seed, 5000);
}

static pthread_barrier_t library_is_open;

static void *older_thread(void *unused) {
    free(malloc(100));
    pthread_barrier_wait(&older_runs);
    pthread_barrier_wait(&library_is_open);
    use_and_outlive(1);
    return unused;
}

static void *younger_thread(void *unused) {
    use_and_outlive(2);
    return unused;
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2, "usage: %s librung.so", argv[0]);
    REQUIRE(!comes_from_rung("malloc"), "malloc is already the library's, this proves nothing");
    pthread_barrier_init(&older_runs, NULL, 2);
    pthread_barrier_init(&library_is_open, NULL, 2);
    pthread_barrier_init(&all_used_it, NULL, 3);
    pthread_barrier_init(&closed, NULL, 3);
    for (int round = 0; round < 5; round++) {
        pthread_t older, younger;
        void *library;
        REQUIRE(pthread_create(&older, NULL, older_thread, NULL) == 0, "no thread");
        pthread_barrier_wait(&older_runs);
        open_library(&library, argv[1]);
        pthread_barrier_wait(&library_is_open);
        REQUIRE(pthread_create(&younger, NULL, younger_thread, NULL) == 0, "no thread");
        work_out(&opened, 3, 5000);
        pthread_barrier_wait(&all_used_it);
        REQUIRE(dlclose(library) == 0, "%s", dlerror());
        pthread_barrier_wait(&closed);
        pthread_join(older, NULL);
        pthread_join(younger, NULL);
        work_out(&the_allocator, 4, 5000);
    }
    return check_result();
}
