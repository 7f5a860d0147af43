#include "options/options.h"

#include "base/bits.h"
#include "options/threshold.h"
#include "os/os.h"

const char *const profile_name[PROFILE_COUNT] = {
    [PROFILE_GLIBC] = "glibc",
    [PROFILE_DEFAULT] = "default",
};

static const struct option_info table[OPTION_COUNT] = {
#define OPTION(id, name, type, glibc, deflt, min, max, alias, param, tunable, what, why)           \
    [OPT_##id] = {name,   TYPE_##type, {glibc, deflt}, min, max, alias, MALLOPT_##param,           \
                  #param, tunable,     what,           why},
#include "options/options.def"
#undef OPTION
};

_Atomic size_t option_values[OPTION_COUNT] = {
#define OPTION(id, name, type, glibc, ...) [OPT_##id] = glibc,
#include "options/options.def"
#undef OPTION
};

_Atomic unsigned char option_origins[OPTION_COUNT];
enum profile option_profile_in_use = PROFILE_GLIBC;

/* A profile's 0, "not set", may lie below what can be set from outside.  In 128 bits, where the
   compilers do not mind a comparison that is always true. */
#define PROFILE_VALUE_FITS(value, min, max)                                                        \
    ((value) == 0 || ((__int128)(value) >= (min) && (__int128)(value) <= (max)))

#define OPTION(id, name, type, glibc, deflt, min, max, ...)                                        \
    _Static_assert((__int128)(min) < (max), "range of " name);                                     \
    _Static_assert(PROFILE_VALUE_FITS(glibc, min, max), name " in profile glibc");                 \
    _Static_assert(PROFILE_VALUE_FITS(deflt, min, max), name " in profile default");
#include "options/options.def"
#undef OPTION

const struct option_info *option_info(enum option which) {
    return &table[which];
}

enum option_origin option_origin(enum option which) {
    return (enum option_origin)atomic_load_explicit(&option_origins[which], memory_order_relaxed);
}

static bool steers_thresholds(enum option which) {
    return which == OPT_TRIM_THRESHOLD || which == OPT_TOP_PAD || which == OPT_MMAP_THRESHOLD ||
           which == OPT_MMAP_MAX;
}

bool option_set(enum option which, size_t value, enum option_origin origin) {
    if (value < table[which].min || value > table[which].max)
        return false;
    /* First the freeze, then the value, each visible in this order: a thread that is adapting the
       thresholds and sees this value also sees that it must leave it alone. */
    if (steers_thresholds(which))
        thresholds_freeze();
    atomic_store_explicit(&option_origins[which], (unsigned char)origin, memory_order_relaxed);
    atomic_store_explicit(&option_values[which], value, memory_order_release);
    return true;
}

void option_use_profile(enum profile profile) {
    for (int i = 0; i < OPTION_COUNT; i++) {
        atomic_store_explicit(&option_origins[i], ORIGIN_PROFILE, memory_order_relaxed);
        option_store((enum option)i, table[i].profile[profile]);
    }
    option_profile_in_use = profile;
    thresholds_start_over();
}

enum profile option_profile(void) {
    return option_profile_in_use;
}

size_t option_start(enum option which) {
    return table[which].profile[option_profile_in_use];
}

int options_mallopt(int parameter, int value) {
    /* A negative number of bytes becomes a huge one: "never". */
    const size_t bytes = (size_t)(long)value;
    switch (parameter) {
    case MALLOPT_TRIM_THRESHOLD:
        option_set(OPT_TRIM_THRESHOLD, bytes, ORIGIN_MALLOPT);
        break;
    case MALLOPT_TOP_PAD:
        option_set(OPT_TOP_PAD, bytes, ORIGIN_MALLOPT);
        break;
    case MALLOPT_MMAP_THRESHOLD:
        option_set(OPT_MMAP_THRESHOLD, bytes, ORIGIN_MALLOPT);
        break;
    case MALLOPT_MMAP_MAX:
        option_set(OPT_MMAP_MAX, value > 0 ? bytes : 0, ORIGIN_MALLOPT);
        break;
    case MALLOPT_PERTURB:
        option_set(OPT_PERTURB, bytes & 0xff, ORIGIN_MALLOPT);
        break;
    case MALLOPT_ARENA_TEST:
        if (value > 0)
            option_set(OPT_ARENA_TEST, bytes, ORIGIN_MALLOPT);
        break;
    case MALLOPT_ARENA_MAX:
        if (value > 0)
            option_set(OPT_ARENA_MAX, bytes, ORIGIN_MALLOPT);
        break;
    default: /* M_MXFAST and M_CHECK_ACTION, which have no effect, and unknown ones */
        break;
    }
    return 1;
}

size_t option_huge_page(void) {
    const size_t wish = option(OPT_HUGETLB);
    const size_t page = wish == 2 ? os_facts.hugetlb : wish;
    return wish >= 2 && is_pow2(page) && page >= os_facts.page ? page : 0;
}

static const char *no_huge_pages(void) {
    const size_t wish = option(OPT_HUGETLB);
    if (wish == 1 && (os_facts.thp == 0 || !os_facts.thp_on_request))
        return "the kernel gives no transparent huge pages on request "
               "(/sys/kernel/mm/transparent_hugepage/enabled)";
    if (wish == 2 && option_huge_page() == 0)
        return "the kernel has no MAP_HUGETLB pages (Hugepagesize in /proc/meminfo)";
    if (wish > 2 && option_huge_page() == 0)
        return "no page has that size";
    return NULL;
}

static const char *no_thread_cache(void) {
    return option(OPT_PERTURB) != 0 ? "perturb is set, and threads then get no cache" : NULL;
}

static const char *no_waiting(void) {
    return os_facts.strict_commit ? "vm.overcommit_memory is 2: memory that waits would count"
           : os_facts.secure      ? "the process is privileged: freed memory must not be readable"
                                  : NULL;
}

const char *option_no_effect(enum option which) {
    switch (which) {
    case OPT_MXFAST:
        return "there are no fastbins to size";
    case OPT_CHECK:
        return "the checks are always on and always end the process";
    case OPT_ARENA_TEST:
        return option(OPT_ARENA_MAX) != 0         ? "arena_max is set, and is the cap then"
               : option(OPT_ARENA_ON_DEMAND) != 0 ? "arena_on_demand is on, and has a cap of its own"
                                                  : NULL;
    case OPT_PURGE_THREAD:
        return option(OPT_PURGE_DELAY) == 0 ? "purge_delay is 0: nothing is given back for its age" : NULL;
    case OPT_TCACHE_COUNT:
        return no_thread_cache();
    case OPT_TCACHE_MAX:
    case OPT_TCACHE_UNSORTED_LIMIT:
        return option(OPT_TCACHE_COUNT) == 0 ? "tcache_count is 0: threads get no cache"
                                             : no_thread_cache();
    case OPT_MMAP_THRESHOLD:
        return option(OPT_MMAP_MAX) == 0 ? "mmap_max is 0: no chunk gets a mapping of its own"
                                         : NULL;
    case OPT_HUGETLB:
        return no_huge_pages();
    case OPT_MAP_KEEP:
        return no_waiting();
    case OPT_PURGE_DELAY:
        return option(OPT_MAP_KEEP) == 0 && option(OPT_ARENA_KEEP) == 0 && option(OPT_RUNS) == 0
                   ? "map_keep, arena_keep and runs are 0: nothing waits for reuse"
                   : NULL;
    case OPT_THRESHOLD_DECAY:
        return option_origin(OPT_MMAP_THRESHOLD) != ORIGIN_PROFILE
                   ? "mmap_threshold is set, and does not adapt"
                   : NULL;
    default:
        return NULL;
    }
}
