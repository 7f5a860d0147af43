// Row E3: glibc's tunables and their aliases, with glibc 2.43's precedence and its treatment of
// what is malformed: a string that cannot be split is ignored as a whole, a value that is no number
// or out of range is ignored alone.
#include "tunables.h"

static const struct {
    const char *env[4];
    const char *probe;
    size_t want;
    bool newer; // than the host's loader, which took malformed strings apart
} cases[] = {
    // Nothing set.
    {{NULL}, "first_growth", DEFAULT_GROWTH, false},
    {{NULL}, "mapped_100000", 0, false},
    {{NULL}, "mapped_500000", 1, false},
    {{NULL}, "cached_64", 16, true},
    {{NULL}, "cached_5000", 0, false},
    {{NULL}, "left", 0, false},
    {{NULL}, "fill", 0, false},
    {{NULL}, "arenas", 6, false},
    // Each tunable by its full name.
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=0"}, "first_growth", NO_PAD, false},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=1048576"}, "first_growth", BIG_PAD, false},
    {{"GLIBC_TUNABLES=glibc.malloc.mmap_threshold=65536"}, "mapped_100000", 1, false},
    {{"GLIBC_TUNABLES=glibc.malloc.mmap_threshold=1000000"}, "mapped_500000", 0, false},
    {{"GLIBC_TUNABLES=glibc.malloc.mmap_max=0"}, "mapped_500000", 0, false},
    {{"GLIBC_TUNABLES=glibc.malloc.mmap_max=2"}, "mapped_500000", 0, false},
    {{"GLIBC_TUNABLES=glibc.malloc.mmap_max=3"}, "mapped_500000", 1, false},
    {{"GLIBC_TUNABLES=glibc.malloc.trim_threshold=1000000000"}, "left", 11, false},
    {{"GLIBC_TUNABLES=glibc.malloc.arena_max=1"}, "arenas", 1, false},
    {{"GLIBC_TUNABLES=glibc.malloc.arena_max=3"}, "arenas", 3, false},
    {{"GLIBC_TUNABLES=glibc.malloc.perturb=0x55"}, "fill", 0xaa, false},
    {{"GLIBC_TUNABLES=glibc.malloc.tcache_count=0"}, "cached_64", 0, false},
    {{"GLIBC_TUNABLES=glibc.malloc.tcache_count=3"}, "cached_64", 3, false},
    {{"GLIBC_TUNABLES=glibc.malloc.tcache_count=1000"}, "cached_64", 100, false},
    {{"GLIBC_TUNABLES=glibc.malloc.tcache_count=65535"}, "cached_64", 100, false},
    {{"GLIBC_TUNABLES=glibc.malloc.tcache_count=65536"}, "cached_64", 16, true},
    {{"GLIBC_TUNABLES=glibc.malloc.tcache_max=8192"}, "cached_5000", 16, true},
    {{"GLIBC_TUNABLES=glibc.malloc.tcache_max=1200"}, "cached_1500", 0, true},
    {{"GLIBC_TUNABLES=glibc.malloc.tcache_max=32"}, "cached_64", 0, false},
    {{"GLIBC_TUNABLES=glibc.malloc.tcache_max=4194305"}, "cached_5000", 0, true},
    {{"GLIBC_TUNABLES=glibc.malloc.mxfast=128"}, "cached_64", 16, true},
    // Each alias.
    {{"MALLOC_TOP_PAD_=0"}, "first_growth", NO_PAD, false},
    {{"MALLOC_MMAP_THRESHOLD_=65536"}, "mapped_100000", 1, false},
    {{"MALLOC_MMAP_MAX_=0"}, "mapped_500000", 0, false},
    {{"MALLOC_TRIM_THRESHOLD_=1000000000"}, "left", 11, false},
    {{"MALLOC_PERTURB_=85"}, "fill", 0xaa, false},
    {{"MALLOC_ARENA_MAX=1"}, "arenas", 1, false},
    {{"MALLOC_ARENA_TEST=1"}, "arenas", 6, false},
    {{"MALLOC_CHECK_=3"}, "first_growth", DEFAULT_GROWTH, false},
    // The cache's options have none, under no spelling.
    {{"MALLOC_TCACHE_COUNT_=0", "MALLOC_TCACHE_COUNT=0"}, "cached_64", 16, true},
    {{"MALLOC_TCACHE_MAX_=32", "MALLOC_TCACHE_MAX=32"}, "cached_64", 16, true},
    {{"MALLOC_TCACHE_UNSORTED_LIMIT_=1", "MALLOC_TCACHE_UNSORTED_LIMIT=1"}, "cached_64", 16, true},
    // And an alias is exactly its name.
    {{"MALLOC_TOP_PAD=0"}, "first_growth", DEFAULT_GROWTH, false},
    {{"MALLOC_ARENA_MAX_=1"}, "arenas", 6, false},
    {{"XMALLOC_TOP_PAD_=0", "MALLOC_TOP_PAD_X=0"}, "first_growth", DEFAULT_GROWTH, false},
    // Precedence: the tunable wins, wherever it stands; if it is out of range the alias counts.
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=0", "MALLOC_TOP_PAD_=1048576"},
     "first_growth",
     NO_PAD,
     false},
    {{"MALLOC_TOP_PAD_=1048576", "GLIBC_TUNABLES=glibc.malloc.top_pad=0"},
     "first_growth",
     NO_PAD,
     false},
    {{"GLIBC_TUNABLES=glibc.malloc.perturb=0x100", "MALLOC_PERTURB_=85"}, "fill", 0xaa, false},
    {{"GLIBC_TUNABLES=glibc.malloc.arena_max=0", "MALLOC_ARENA_MAX=1"}, "arenas", 1, false},
    // Numbers: decimal, hexadecimal, octal, a sign, blanks in front.
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=0x100000"}, "first_growth", BIG_PAD, false},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=0X100000"}, "first_growth", BIG_PAD, false},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=04000000"}, "first_growth", BIG_PAD, false},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=+1048576"}, "first_growth", BIG_PAD, false},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad= \t1048576"}, "first_growth", BIG_PAD, false},
    {{"GLIBC_TUNABLES=glibc.malloc.mmap_threshold=-1"}, "mapped_500000", 0, false},
    {{"MALLOC_TOP_PAD_=0x100000"}, "first_growth", BIG_PAD, false},
    {{"MALLOC_TOP_PAD_=04000000"}, "first_growth", BIG_PAD, false},
    // Several at once; the last of a name counts; unknown names and empty parts are passed over.
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=1048576:glibc.malloc.top_pad=0"},
     "first_growth",
     NO_PAD,
     false},
    {{"GLIBC_TUNABLES=glibc.malloc.perturb=85:glibc.malloc.top_pad=0"},
     "first_growth",
     NO_PAD,
     false},
    {{"GLIBC_TUNABLES=glibc.malloc.perturb=85:glibc.malloc.top_pad=0"}, "fill", 0xaa, false},
    {{"GLIBC_TUNABLES=:::glibc.malloc.top_pad=0"}, "first_growth", NO_PAD, false},
    {{"GLIBC_TUNABLES=glibc.malloc.perturb=85::glibc.malloc.top_pad=0"},
     "first_growth",
     NO_PAD,
     false},
    {{"GLIBC_TUNABLES=glibc.malloc.nonsense=7:glibc.malloc.top_pad=0"},
     "first_growth",
     NO_PAD,
     false},
    {{"GLIBC_TUNABLES=other.malloc.top_pad=1:glibc.malloc.top_pad=0"},
     "first_growth",
     NO_PAD,
     false},
    {{"GLIBC_TUNABLES=nonsense:glibc.malloc.top_pad=0"}, "first_growth", NO_PAD, false},
    {{"GLIBC_TUNABLES=glibc.rtld.optional_static_tls=512:glibc.malloc.top_pad=0"},
     "first_growth",
     NO_PAD,
     false},
    // Out of range: ignored, and the rest is not.
    {{"GLIBC_TUNABLES=glibc.malloc.perturb=256"}, "fill", 0, false},
    {{"GLIBC_TUNABLES=glibc.malloc.perturb=-1"}, "fill", 0, false},
    {{"GLIBC_TUNABLES=glibc.malloc.perturb=0x800:glibc.malloc.top_pad=0"},
     "first_growth",
     NO_PAD,
     false},
    {{"GLIBC_TUNABLES=glibc.malloc.arena_max=0"}, "arenas", 6, false},
    {{"GLIBC_TUNABLES=glibc.malloc.mmap_max=-1"}, "mapped_500000", 1, false},
    {{"GLIBC_TUNABLES=glibc.malloc.mmap_max=4294967296"}, "mapped_500000", 1, true},
    {{"MALLOC_PERTURB_=256"}, "fill", 0, false},
    {{"MALLOC_ARENA_MAX=0"}, "arenas", 6, false},
    // No number: ignored, and the rest is not.
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=0k"}, "first_growth", DEFAULT_GROWTH, true},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=1048576 "}, "first_growth", DEFAULT_GROWTH, true},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=abc"}, "first_growth", DEFAULT_GROWTH, true},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=08"}, "first_growth", DEFAULT_GROWTH, true},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=18446744073709551616"},
     "first_growth",
     DEFAULT_GROWTH,
     true},
    {{"GLIBC_TUNABLES=glibc.malloc.perturb=abc:glibc.malloc.top_pad=0"},
     "first_growth",
     NO_PAD,
     false},
    {{"MALLOC_TOP_PAD_=0k"}, "first_growth", DEFAULT_GROWTH, true},
    // Cannot be split: ignored as a whole.
    {{"GLIBC_TUNABLES="}, "first_growth", DEFAULT_GROWTH, false},
    {{"GLIBC_TUNABLES=:"}, "first_growth", DEFAULT_GROWTH, false},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad"}, "first_growth", DEFAULT_GROWTH, false},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=0:glibc.malloc.perturb"},
     "first_growth",
     DEFAULT_GROWTH,
     true},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=0:"}, "first_growth", DEFAULT_GROWTH, true},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=0=0"}, "first_growth", DEFAULT_GROWTH, true},
    {{"GLIBC_TUNABLES=glibc.malloc.perturb=85=85:glibc.malloc.top_pad=0"},
     "first_growth",
     DEFAULT_GROWTH,
     true},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=glibc.malloc.top_pad=0"},
     "first_growth",
     DEFAULT_GROWTH,
     true},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=0:a=b=c"}, "first_growth", DEFAULT_GROWTH, true},
    // A name that only begins or ends like one.
    {{"GLIBC_TUNABLES=glibc.malloc.top_pa=0"}, "first_growth", DEFAULT_GROWTH, false},
    {{"GLIBC_TUNABLES=glibc.malloc.top_padd=0"}, "first_growth", DEFAULT_GROWTH, false},
    {{"GLIBC_TUNABLES=malloc.top_pad=0"}, "first_growth", DEFAULT_GROWTH, false},
    {{"GLIBC_TUNABLES= glibc.malloc.top_pad=0"}, "first_growth", DEFAULT_GROWTH, false},
    {{"GLIBC_TUNABLESX=glibc.malloc.top_pad=0"}, "first_growth", DEFAULT_GROWTH, false},
};

int main(int argc, char **argv) {
    probe_if_asked(argc, argv);
    require_rung();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (on_host_malloc() && cases[i].newer)
            continue;
        char what[400];
        snprintf(what, sizeof what, "%s %s", cases[i].env[0] ? cases[i].env[0] : "(nothing set)",
                 cases[i].env[0] && cases[i].env[1] ? cases[i].env[1] : "");
        expect_probe(what, cases[i].env, cases[i].probe, cases[i].want);
    }
    return check_result();
}
