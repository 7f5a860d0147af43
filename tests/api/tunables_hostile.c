// Row E3: no string in an environment variable makes a process crash or hang. The strings are
// nasty, long, or random; all that is asked is that the program still allocates.
#include "tunables.h"

static const char *const variables[] = {
    "GLIBC_TUNABLES",         "RUNG_OPTIONS",          "MALLOC_TOP_PAD_", "MALLOC_ARENA_MAX",
    "MALLOC_MMAP_MAX_",       "MALLOC_CHECK_",         "MALLOC_PERTURB_", "MALLOC_ARENA_TEST",
    "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"};

static const char *const nasty[] = {
    "",
    "=",
    ":",
    ",",
    "==",
    "::",
    ",,",
    "=:=:=",
    "=,=,=",
    "a",
    "a=",
    "=a",
    "a=b",
    "a=b=c",
    "-",
    "+",
    "0x",
    "0xg",
    "-0x",
    "--1",
    "+-1",
    "-1",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999",
    "0xffffffffffffffffffffffffffffffff",
    "077777777777777777777777777777777777",
    "1e9",
    "1.5",
    " ",
    "\t",
    "\n",
    "\\",
    "%s%n%d",
    "%",
    "\xff\xfe\x80",
    "glibc.malloc",
    "glibc.malloc.",
    "glibc.malloc.=",
    "glibc.malloc.=0",
    "glibc.malloc.top_pad",
    "glibc.malloc.top_pad=",
    "glibc.malloc.top_pad=:",
    "glibc.malloc.top_pad=,",
    "glibc.malloc.top_pad==",
    "glibc.malloc.top_pad=0=",
    "glibc.malloc.top_pad=0:=",
    "glibc.malloc.top_pad=glibc.malloc.top_pad=A",
    "glibc.malloc.mmap_max=glibc.malloc.mmap_max=glibc.malloc.mmap_max=",
    "glibc.malloc.tcache_count=-1:glibc.malloc.tcache_max=-1",
    "glibc.malloc.tcache_count=99999:glibc.malloc.tcache_max=99999999999",
    "glibc.malloc.tcache_max=0:glibc.malloc.tcache_count=1",
    "glibc.malloc.arena_max=18446744073709551615:glibc.malloc.arena_test=18446744073709551615",
    "glibc.malloc.mmap_threshold=0",
    "glibc.malloc.trim_threshold=0",
    "glibc.malloc.hugetlb=99",
    "glibc.malloc.hugetlb=-1",
    "profile",
    "profile=",
    "profile==",
    "profile=nothing",
    "profile=glibc,profile=default,profile=hardened,profile=glibc",
    "top_pad=,mmap_max=,tcache_count=,tcache_max=",
    "top_pad=abc,mmap_max=abc",
    "tcache_count=-1,arena_max=-1,perturb=-1",
};

static void expect_alive(const char *name, const char *value, size_t length) {
    if (on_host_malloc() && strstr(value, "9223372036854775808"))
        return; // glibc's own malloc crashes on such a top_pad
    static char line[1 << 17];
    size_t n = (size_t)snprintf(line, sizeof line, "%s=", name);
    REQUIRE(n + length < sizeof line, "value too long");
    memcpy(line + n, value, length);
    line[n + length] = 0;
    const char *const extra[] = {line, NULL};
    struct outcome o;
    run_with(extra, "cached_64", &o);
    bool served = exited_with(&o, 0) && o.out[0];
    // A padding of half the address space is a number like others; what cannot be had with it is
    // refused, not a crash.
    bool refused = exited_with(&o, 1) && strstr(o.err, "no memory");
    CHECK(served || refused, "%.200s: %s: %.300s", line, ending(&o), o.err);
}

// Up to what the kernel takes as one string, 128 KiB.
static void test_long(void) {
    static char value[120000];
    static const char *const units[] = {"A",
                                        "=",
                                        ":",
                                        ",",
                                        "A=B",
                                        "A=B:",
                                        "a=1,",
                                        "0",
                                        "glibc.malloc.top_pad=0:",
                                        "glibc.malloc.perturb=0x800:",
                                        "glibc.malloc.mmap_threshold=4096=4096:",
                                        "glibc.malloc.tcache_count=",
                                        "no_such_option=1,",
                                        "top_pad=0,"};
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        size_t unit = strlen(units[u]), length = sizeof value - 1;
        for (size_t i = 0; i < length; i++)
            value[i] = units[u][i % unit];
        expect_alive("GLIBC_TUNABLES", value, length);
        expect_alive("RUNG_OPTIONS", value, length);
        expect_alive("MALLOC_TOP_PAD_", value, length);
    }
}

static void test_random(uint64_t seed) {
    static const char *const pieces[] = {
        "glibc",        ".",       "malloc", "top_pad", "=", ":", ",",    "0",    "x",
        "tcache_count", "perturb", "-1",     "65536",   "9", " ", "\x01", "\xff", "profile"};
    for (int i = 0; i < 300; i++) {
        char value[400];
        size_t n = 0;
        for (unsigned k = next_random(&seed) % 30; k > 0; k--) {
            const char *piece = pieces[next_random(&seed) % (sizeof pieces / sizeof *pieces)];
            size_t length = strlen(piece);
            if (n + length >= sizeof value)
                break;
            memcpy(value + n, piece, length);
            n += length;
        }
        expect_alive(i % 2 ? "GLIBC_TUNABLES" : "RUNG_OPTIONS", value, n);
    }
}

int main(int argc, char **argv) {
    probe_if_asked(argc, argv);
    require_rung();
    uint64_t seed = seed_from_environment(11);
    for (size_t v = 0; v < sizeof variables / sizeof *variables; v++)
        for (size_t i = 0; i < sizeof nasty / sizeof *nasty; i++)
            expect_alive(variables[v], nasty[i], strlen(nasty[i]));
    test_long();
    test_random(seed);
    return check_result();
}
