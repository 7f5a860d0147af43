#include "options/threshold.h"

#include <stdatomic.h>

#include "base/counter.h"
#include "options/options.h"

static _Atomic bool frozen;

bool thresholds_frozen(void) {
    return atomic_load_explicit(&frozen, memory_order_acquire);
}

void thresholds_freeze(void) {
    atomic_store_explicit(&frozen, true, memory_order_release);
}

void thresholds_start_over(void) {
    atomic_store_explicit(&frozen, false, memory_order_release);
}

struct thresholds threshold_after_free(struct thresholds now, size_t freed_csz) {
    if (freed_csz <= now.mmap || freed_csz > MMAP_THRESHOLD_LIMIT)
        return now;
    return (struct thresholds){.mmap = freed_csz, .trim = 2 * freed_csz};
}

/* Two threads that raise the same threshold leave the higher value.  A thread that sets it at the
   same time wins: it freezes before it stores (option_set), so that whoever sees its value here
   sees the freeze as well, and whoever does not fails to exchange. */
static bool raise_to(enum option which, size_t value) {
    size_t seen = atomic_load_explicit(&option_values[which], memory_order_acquire);
    while (seen < value && !thresholds_frozen()) {
        if (atomic_compare_exchange_weak_explicit(&option_values[which], &seen, value,
                                                  memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

void thresholds_learn(size_t freed_csz) {
    const struct thresholds now = {option(OPT_MMAP_THRESHOLD), option(OPT_TRIM_THRESHOLD)};
    const struct thresholds then = threshold_after_free(now, freed_csz);
    if (then.mmap != now.mmap && raise_to(OPT_MMAP_THRESHOLD, then.mmap)) {
        raise_to(OPT_TRIM_THRESHOLD, then.trim);
        counter_add(COUNT_THRESHOLD_RAISES, 1);
    }
}

void thresholds_for_huge_pages(size_t page) {
    /* Whoever has set the threshold, it is frozen already. */
    if (option(OPT_HUGETLB) >= 2 && option_origin(OPT_MMAP_THRESHOLD) == ORIGIN_PROFILE)
        option_set(OPT_MMAP_THRESHOLD, page, ORIGIN_HUGETLB);
}
