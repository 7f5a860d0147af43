#include "options/threshold.h"

#include <stdatomic.h>

#include "base/counter.h"
#include "options/options.h"
#include "os/os.h"

static _Atomic bool frozen;

/* When a chunk was last freed that justifies the thresholds as they are. */
static _Atomic uint64_t justified_at;

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

struct thresholds threshold_after_quiet(struct thresholds now, struct thresholds start,
                                        uint64_t halvings) {
    const size_t mmap = halvings < 64 ? now.mmap >> halvings : 0;
    if (now.mmap <= start.mmap)
        return now;
    if (mmap <= start.mmap)
        return start;
    return (struct thresholds){.mmap = mmap, .trim = 2 * mmap};
}

/* Microseconds; 0: they never fall. */
static uint64_t decay(void) {
    return (uint64_t)option(OPT_THRESHOLD_DECAY) * 1000;
}

static bool is_set(enum option which) {
    return option_origin(which) != ORIGIN_PROFILE;
}

static bool adapts(enum option which) {
    return decay() == 0 ? !thresholds_frozen() : !is_set(OPT_MMAP_THRESHOLD) && !is_set(which);
}

/* Two threads that raise the same threshold leave the higher value.  A thread that sets it at the
   same time wins: it freezes and notes the origin before it stores (option_set), so that whoever sees
   its value here sees those as well, and whoever does not fails to exchange. */
static bool raise_to(enum option which, size_t value) {
    size_t seen = atomic_load_explicit(&option_values[which], memory_order_acquire);
    while (seen < value && adapts(which)) {
        if (atomic_compare_exchange_weak_explicit(&option_values[which], &seen, value,
                                                  memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

/* If it is still what the decision was made of. */
static bool lower_from(enum option which, size_t seen, size_t value) {
    return seen > value && adapts(which) &&
           atomic_compare_exchange_strong_explicit(&option_values[which], &seen, value,
                                                   memory_order_acq_rel, memory_order_acquire);
}

static struct thresholds thresholds_now(void) {
    return (struct thresholds){option(OPT_MMAP_THRESHOLD), option(OPT_TRIM_THRESHOLD)};
}

static void justify(size_t freed_csz) {
    const size_t mmap = option(OPT_MMAP_THRESHOLD);
    if (decay() != 0 && mmap > option_start(OPT_MMAP_THRESHOLD) && threshold_is_justified_by(freed_csz, mmap))
        atomic_store_explicit(&justified_at, os_clock_us(), memory_order_relaxed);
}

void thresholds_learn(size_t freed_csz) {
    const struct thresholds now = thresholds_now();
    const struct thresholds then = threshold_after_free(now, freed_csz);
    if (then.mmap != now.mmap && raise_to(OPT_MMAP_THRESHOLD, then.mmap)) {
        raise_to(OPT_TRIM_THRESHOLD, then.trim);
        counter_add(COUNT_THRESHOLD_RAISES, 1);
    }
    justify(freed_csz);
}

void thresholds_confirm(size_t freed_csz) {
    justify(freed_csz);
}

void thresholds_age(void) {
    const struct thresholds now = thresholds_now();
    const struct thresholds start = {option_start(OPT_MMAP_THRESHOLD), option_start(OPT_TRIM_THRESHOLD)};
    const uint64_t half = decay();
    if (half == 0 || now.mmap <= start.mmap || !adapts(OPT_MMAP_THRESHOLD))
        return;
    uint64_t since = atomic_load_explicit(&justified_at, memory_order_relaxed);
    const uint64_t clock = os_clock_us();
    const uint64_t halvings = clock > since ? (clock - since) / half : 0;
    if (halvings == 0 || !atomic_compare_exchange_strong_explicit(&justified_at, &since, since + halvings * half,
                                                                  memory_order_relaxed, memory_order_relaxed))
        return;
    const struct thresholds then = threshold_after_quiet(now, start, halvings);
    if (lower_from(OPT_MMAP_THRESHOLD, now.mmap, then.mmap)) {
        lower_from(OPT_TRIM_THRESHOLD, now.trim, then.trim);
        counter_add(COUNT_THRESHOLD_FALLS, 1);
    }
}

void thresholds_for_huge_pages(size_t page) {
    /* Whoever has set the threshold, it is frozen already. */
    if (option(OPT_HUGETLB) >= 2 && option_origin(OPT_MMAP_THRESHOLD) == ORIGIN_PROFILE)
        option_set(OPT_MMAP_THRESHOLD, page, ORIGIN_HUGETLB);
}
