// FIELD 12: a pointer that is not the allocator's, given to free, realloc or malloc_usable_size,
// ends the process with one clear line and a second one that names the pointer. In the profile
// `glibc` malloc_usable_size asks nothing, as in glibc. With runs free looks only at where a pointer
// lies before it puts it into the thread's cache: one that points into an object is found out when
// it leaves the cache, which malloc_trim brings about here.
// usage: foreign_pointer free realloc... (the calls to try)
#include "child.h"
#include <malloc.h>
#include <sys/mman.h>

static size_t static_memory[512] __attribute__((aligned(64)));

static void *on_the_stack(void) {
    static size_t *escaped;
    size_t here[64];
    memset(here, 0, sizeof here);
    escaped = (size_t *)(((uintptr_t)&here[8] + 15) & ~(uintptr_t)15);
    return launder(escaped);
}

static void *in_a_mapping(void) {
    char *mem = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mem != MAP_FAILED, "mmap: errno %d", errno);
    return mem + 4096;
}

static void *in_static_memory(void) {
    return launder(&static_memory[64]);
}

static void *in_the_program(void) {
    void *code;
    void *(*function)(void) = in_the_program;
    memcpy(&code, &function, sizeof code);
    return launder(code);
}

static void *inside_a_block(void) {
    char *mem = calloc(1, 5000);
    return launder(mem + 256);
}

static void *inside_a_large_block(void) {
    char *mem = calloc(1, 100000);
    return launder(mem + 4096);
}

static const struct {
    const char *name;
    void *(*pointer)(void);
} origins[] = {
    {"the stack", on_the_stack},
    {"a mapping", in_a_mapping},
    {"static memory", in_static_memory},
    {"the program", in_the_program},
    {"inside a block", inside_a_block},
    {"inside a large block", inside_a_large_block},
};

struct job {
    void *(*pointer)(void);
    int what;
};

static const char *const calls[] = {"free", "realloc", "malloc_usable_size"};

static void misuse(void *arg) {
    struct job *j = arg;
    free(malloc(10));
    void *p = j->pointer();
    printf("%p", p);
    fflush(stdout);
    if (j->what == 0)
        free(p);
    else if (j->what == 1)
        p = realloc(p, 100);
    else
        p = (void *)malloc_usable_size(p);
    if (j->pointer == inside_a_block && j->what == 0 && option_value("runs"))
        malloc_trim(0);
    say("%s went through and gave %p", calls[j->what], p);
}

static bool chosen(const char *call, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], call) == 0)
            return true;
    return false;
}

int main(int argc, char **argv) {
    REQUIRE(argc > 1, "usage: %s free|realloc|malloc_usable_size...", argv[0]);
    if (on_host_malloc())
        SKIP("the system's malloc does not name pointers, nor detect all of them");
    require_rung();
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++)
        for (int what = 0; what < 3; what++) {
            if (!chosen(calls[what], argc, argv))
                continue;
            struct job j = {origins[i].pointer, what};
            struct outcome o;
            run_function(misuse, &j, &o);
            CHECK(killed_by(&o, SIGABRT), "%s of %s: %s: %s", calls[what], origins[i].name,
                  ending(&o), o.err);
            const char *second = strchr(o.err, '\n');
            CHECK(second && second != o.err && strncmp(second + 1, "rung: ", 6) == 0 &&
                      strstr(second, o.out),
                  "%s of %s: \"%s\" does not name %s", calls[what], origins[i].name, o.err, o.out);
        }
    return check_result();
}
