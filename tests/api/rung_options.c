// Row E3: RUNG_OPTIONS=name=value,... sets the same options; a name that does not exist or a value
// that cannot be is said on standard error, in one line that names it, and the rest of the list
// counts.
#include "tunables.h"

static const struct {
    const char *env[3];
    const char *probe;
    size_t want;
    const char *warns_of; // the warning contains this; NULL: there is none
} cases[] = {
    {{"RUNG_OPTIONS=profile=glibc"}, "first_growth", DEFAULT_GROWTH, NULL},
    {{"RUNG_OPTIONS=profile=glibc,top_pad=0"}, "first_growth", NO_PAD, NULL},
    {{"RUNG_OPTIONS=top_pad=0,profile=glibc"}, "arenas", 6, NULL},
    {{"RUNG_OPTIONS=profile=glibc,top_pad=0x100000"}, "first_growth", BIG_PAD, NULL},
    {{"RUNG_OPTIONS=profile=glibc,mmap_threshold=65536"}, "mapped_100000", 1, NULL},
    {{"RUNG_OPTIONS=profile=glibc,mmap_max=0"}, "mapped_500000", 0, NULL},
    {{"RUNG_OPTIONS=profile=glibc,trim_threshold=1000000000"}, "left", 11, NULL},
    {{"RUNG_OPTIONS=profile=glibc,perturb=0x55"}, "fill", 0xaa, NULL},
    {{"RUNG_OPTIONS=profile=glibc,arena_max=1"}, "arenas", 1, NULL},
    {{"RUNG_OPTIONS=profile=glibc,tcache_count=3"}, "cached_64", 3, NULL},
    {{"RUNG_OPTIONS=profile=glibc,tcache_max=8192"}, "cached_5000", 16, NULL},
    {{"RUNG_OPTIONS=profile=glibc,tcache_max=8192,tcache_count=5,top_pad=0"},
     "cached_5000",
     5,
     NULL},
    {{"RUNG_OPTIONS=profile=glibc,no_such_option=1"},
     "first_growth",
     DEFAULT_GROWTH,
     "no_such_option"},
    {{"RUNG_OPTIONS=profile=glibc,no_such_option=1,top_pad=0"},
     "first_growth",
     NO_PAD,
     "no_such_option"},
    {{"RUNG_OPTIONS=no_such_option=1,profile=glibc,top_pad=0"},
     "first_growth",
     NO_PAD,
     "no_such_option"},
    {{"RUNG_OPTIONS=profile=glibc,top_pad=many"}, "first_growth", DEFAULT_GROWTH, "top_pad"},
    {{"RUNG_OPTIONS=profile=glibc,perturb=256,top_pad=0"}, "first_growth", NO_PAD, "perturb"},
    // Where the profile is not named it is `default`: blocks of up to 32 MiB lie in windows of runs.
    {{"RUNG_OPTIONS=profile=default"}, "mapped_500000", 0, NULL},
    {{"RUNG_OPTIONS=profile=default"}, "mapped_40000000", 1, NULL},
    {{"RUNG_OPTIONS=profile=no_such_profile"}, "mapped_500000", 0, "no_such_profile"},
    {{"RUNG_OPTIONS=run_block_max=0"}, "mapped_500000", 1, NULL},
    {{"RUNG_OPTIONS=runs=off,top_step=0"}, "first_growth", DEFAULT_GROWTH, NULL},
    {{"RUNG_OPTIONS=runs=off,top_pad=0"}, "first_growth", NO_PAD, NULL},
    {{"RUNG_OPTIONS=mmap_max=0"}, "mapped_40000000", 0, NULL},
    {{"RUNG_OPTIONS=perturb=0x55"}, "fill", 0xaa, NULL},
    {{"RUNG_OPTIONS=tcache_count=0"}, "cached_64", 0, NULL},
    {{"RUNG_OPTIONS=runs=many"}, "mapped_500000", 0, "runs"},
};

static void expect_warning(const char *what, const char *err, const char *warns_of) {
    if (!warns_of) {
        CHECK(!err[0], "%s: standard error says \"%.200s\"", what, err);
        return;
    }
    const char *end = strchr(err, '\n');
    CHECK(strncmp(err, "rung: ", 6) == 0, "%s: no line of ours: \"%.200s\"", what, err);
    CHECK(strstr(err, warns_of), "%s: \"%.200s\" does not name %s", what, err, warns_of);
    CHECK(end && !end[1], "%s: more than one line: \"%.300s\"", what, err);
}

int main(int argc, char **argv) {
    probe_if_asked(argc, argv);
    if (on_host_malloc())
        SKIP("the system's malloc does not read RUNG_OPTIONS");
    require_rung();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome o;
        expect_probe(cases[i].env[0], cases[i].env, cases[i].probe, cases[i].want);
        run_with(cases[i].env, cases[i].probe, &o);
        expect_warning(cases[i].env[0], o.err, cases[i].warns_of);
    }
    return check_result();
}
