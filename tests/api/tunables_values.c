// Row E3, in every profile: a tunable or its alias sets the option of that name, as rung_option()
// tells, and what does not depend on where small blocks lie has its effect.
#include "tunables.h"

static const struct {
    const char *env[3];
    const char *probe;
    size_t want;
} cases[] = {
    {{"GLIBC_TUNABLES=glibc.malloc.arena_max=3"}, "option_arena_max", 3},
    {{"GLIBC_TUNABLES=glibc.malloc.arena_test=5"}, "option_arena_test", 5},
    {{"GLIBC_TUNABLES=glibc.malloc.mmap_threshold=65536"}, "option_mmap_threshold", 65536},
    {{"GLIBC_TUNABLES=glibc.malloc.trim_threshold=70000"}, "option_trim_threshold", 70000},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=4096"}, "option_top_pad", 4096},
    {{"GLIBC_TUNABLES=glibc.malloc.mmap_max=9"}, "option_mmap_max", 9},
    {{"GLIBC_TUNABLES=glibc.malloc.perturb=0x55"}, "option_perturb", 0x55},
    {{"GLIBC_TUNABLES=glibc.malloc.tcache_count=3"}, "option_tcache_count", 3},
    {{"GLIBC_TUNABLES=glibc.malloc.tcache_max=2000"}, "option_tcache_max", 2000},
    {{"GLIBC_TUNABLES=glibc.malloc.tcache_unsorted_limit=7"}, "option_tcache_unsorted_limit", 7},
    {{"GLIBC_TUNABLES=glibc.malloc.hugetlb=1"}, "option_hugetlb", 1},
    {{"GLIBC_TUNABLES=glibc.malloc.mxfast=64"}, "option_mxfast", 64},
    {{"MALLOC_ARENA_MAX=3"}, "option_arena_max", 3},
    {{"MALLOC_ARENA_TEST=5"}, "option_arena_test", 5},
    {{"MALLOC_MMAP_THRESHOLD_=65536"}, "option_mmap_threshold", 65536},
    {{"MALLOC_TRIM_THRESHOLD_=70000"}, "option_trim_threshold", 70000},
    {{"MALLOC_TOP_PAD_=4096"}, "option_top_pad", 4096},
    {{"MALLOC_MMAP_MAX_=9"}, "option_mmap_max", 9},
    {{"MALLOC_PERTURB_=85"}, "option_perturb", 85},
    // The tunable wins over the alias, and what cannot be split is nothing.
    {{"MALLOC_TOP_PAD_=8192", "GLIBC_TUNABLES=glibc.malloc.top_pad=4096"}, "option_top_pad", 4096},
    {{"GLIBC_TUNABLES=glibc.malloc.top_pad=4096:glibc.malloc.perturb"}, "option_top_pad", 131072},
    // Effects on memory of any kind.
    {{NULL}, "fill", 0},
    {{"GLIBC_TUNABLES=glibc.malloc.perturb=0x55"}, "fill", 0xaa},
    {{"MALLOC_PERTURB_=85"}, "fill", 0xaa},
    {{"GLIBC_TUNABLES=glibc.malloc.tcache_count=0"}, "cached_64", 0},
    {{NULL}, "mapped_40000000", 1},
    {{"GLIBC_TUNABLES=glibc.malloc.mmap_max=0"}, "mapped_40000000", 0},
    {{"MALLOC_MMAP_MAX_=2"}, "mapped_40000000", 0},
    {{"MALLOC_MMAP_MAX_=3"}, "mapped_40000000", 1},
};

int main(int argc, char **argv) {
    probe_if_asked(argc, argv);
    if (on_host_malloc())
        SKIP("the system's malloc cannot be asked for its options");
    require_rung();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char what[400];
        snprintf(what, sizeof what, "%s %s", cases[i].env[0] ? cases[i].env[0] : "(nothing set)",
                 cases[i].env[0] && cases[i].env[1] ? cases[i].env[1] : "");
        expect_probe(what, cases[i].env, cases[i].probe, cases[i].want);
    }
    return check_result();
}
