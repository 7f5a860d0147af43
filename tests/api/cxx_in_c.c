// Row E1: the C++ operators are there for a program that has no C++ runtime at all (a C program
// that loads a C++ plugin later, for one): they allocate and free, the nothrow forms return NULL,
// and a throwing form that cannot throw says so and aborts.
#include "child.h"
#include <link.h>

static const size_t impossible = (size_t)1 << 62;

static int count_cxx_runtimes(struct dl_phdr_info *info, size_t size, void *count) {
    (void)size;
    if (strstr(info->dlpi_name, "libstdc++") || strstr(info->dlpi_name, "libc++"))
        ++*(int *)count;
    return 0;
}

static void *symbol(const char *name) {
    void *f = dlsym(RTLD_DEFAULT, name);
    REQUIRE(f, "%s is missing", name);
    return f;
}

#define LOOK_UP(type, variable, name)                                                              \
    __typeof__(type) variable;                                                                     \
    do {                                                                                           \
        void *found = symbol(name);                                                                \
        memcpy(&variable, &found, sizeof variable);                                                \
    } while (0)

static void fail_to_allocate(void *name) {
    LOOK_UP(void *(*)(size_t), allocate, (const char *)name);
    allocate(impossible);
    say("it returned");
}

static void fail_to_allocate_aligned(void *name) {
    LOOK_UP(void *(*)(size_t, size_t), allocate, (const char *)name);
    allocate(impossible, 64);
    say("it returned");
}

static void expect_clean_abort(void (*run)(void *), const char *name) {
    struct outcome o;
    char copy[64];
    snprintf(copy, sizeof copy, "%s", name);
    run_function(run, copy, &o);
    CHECK(killed_by(&o, SIGABRT), "%s(impossible): %s, not SIGABRT", name, ending(&o));
    CHECK(o.err[0] && o.err[0] != '\n' && !strstr(o.err, "it returned"),
          "%s(impossible) does not say why it ends: \"%s\"", name, o.err);
}

int main(void) {
    if (on_host_malloc())
        SKIP("the system's C library has no C++ operators");
    require_rung();
    int runtimes = 0;
    dl_iterate_phdr(count_cxx_runtimes, &runtimes);
    REQUIRE(runtimes == 0, "a C++ runtime is loaded, this program proves nothing");

    LOOK_UP(void *(*)(size_t), new_, "_Znwm");
    LOOK_UP(void *(*)(size_t), new_array, "_Znam");
    LOOK_UP(void *(*)(size_t, size_t), new_aligned, "_ZnwmSt11align_val_t");
    LOOK_UP(void *(*)(size_t, const void *), new_quiet, "_ZnwmRKSt9nothrow_t");
    LOOK_UP(void *(*)(size_t, size_t, const void *), new_aligned_quiet,
            "_ZnwmSt11align_val_tRKSt9nothrow_t");
    LOOK_UP(void (*)(void *), delete_, "_ZdlPv");
    LOOK_UP(void (*)(void *), delete_array, "_ZdaPv");
    LOOK_UP(void (*)(void *, size_t), delete_sized, "_ZdlPvm");
    LOOK_UP(void (*)(void *, size_t), delete_aligned, "_ZdlPvSt11align_val_t");
    char nothrow = 0;
    for (size_t size = 0; size < 300000; size = size * 3 + 1) {
        void *p[6] = {new_(size),
                      new_array(size),
                      new_aligned(size, 256),
                      new_quiet(size, &nothrow),
                      new_aligned_quiet(size, 4096, &nothrow),
                      new_(size)};
        for (int i = 0; i < 6; i++) {
            CHECK(p[i], "form %d returned NULL for %zu", i, size);
            memset(p[i], i, size);
        }
        CHECK((uintptr_t)p[2] % 256 == 0 && (uintptr_t)p[4] % 4096 == 0, "%p, %p", p[2], p[4]);
        delete_(p[0]);
        delete_array(p[1]);
        delete_aligned(p[2], 256);
        delete_(p[3]);
        delete_aligned(p[4], 4096);
        delete_sized(p[5], size);
    }
    CHECK(!new_quiet(impossible, &nothrow), "nothrow new gave memory for 2^62 bytes");
    CHECK(!new_aligned_quiet(impossible, 64, &nothrow),
          "aligned nothrow new gave memory for 2^62 bytes");
    expect_clean_abort(fail_to_allocate, "_Znwm");
    expect_clean_abort(fail_to_allocate, "_Znam");
    expect_clean_abort(fail_to_allocate_aligned, "_ZnwmSt11align_val_t");
    expect_clean_abort(fail_to_allocate_aligned, "_ZnamSt11align_val_t");

    dl_iterate_phdr(count_cxx_runtimes, &runtimes);
    CHECK(runtimes == 0, "the operators loaded a C++ runtime");
    check_heap("at the end");
    return check_result();
}
