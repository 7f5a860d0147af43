#include "chunk/footprint.h"

#include "base/bits.h"
#include "base/counter.h"
#include "chunk/purger.h"
#include "chunk/window.h"
#include "options/options.h"
#include "os/os.h"

/* The account is clearly below the soft limit when it is below it by one in so many. */
#define CLEARLY_BELOW 16
/* After a purge the next one is due when the account has grown by the soft limit's part in so many. */
#define PURGE_AGAIN 64

_Atomic bool footprint_watched;

static _Atomic size_t windows;  /* see footprint_set_windows() */
static _Atomic size_t gone;     /* see footprint_gone() */
static _Atomic size_t asked;    /* by all threads, and not told yet */
static _Atomic size_t purge_at; /* beyond it whoever takes memory shall purge */
static _Atomic bool armed;      /* the soft limit was not crossed since the account was clearly below */

static size_t load(const _Atomic size_t *word) {
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* The words are read one by one while others write them: a block on its way from one to another may be seen
   in neither. */
size_t footprint(void) {
    size_t sum = counter_get(COUNT_ARENA_BYTES) + counter_get(COUNT_MAPPED_BYTES) + counter_get(COUNT_MAPPED_KEPT) +
                 counter_get(COUNT_META_MAPPED) + load(&windows);
    size_t less = load(&gone);
    return sum > less ? sum - less : 0;
}

void footprint_set_windows(size_t bytes) {
    atomic_store_explicit(&windows, bytes, memory_order_relaxed);
}

void footprint_gone(ptrdiff_t bytes) {
    atomic_fetch_add_explicit(&gone, (size_t)bytes, memory_order_relaxed);
}

/* Beyond it the purge thread is worth its stack: the floor, and what an arena takes ahead. */
static size_t wants_looking_after(void) {
    return option(OPT_RUN_KEEP) + 4 * MIB;
}

static void note_for_soft_limit(size_t soft, size_t total) {
    if (total <= soft - soft / CLEARLY_BELOW && !atomic_load_explicit(&armed, memory_order_relaxed)) {
        atomic_store_explicit(&purge_at, soft, memory_order_relaxed);
        atomic_store_explicit(&armed, true, memory_order_relaxed);
    }
    if (total > load(&purge_at))
        self.due |= DUE_SOFT_LIMIT;
}

SLOW bool footprint_ask_slow(size_t bytes) {
    size_t hard = option(OPT_HARD_LIMIT);
    size_t soft = option(OPT_SOFT_LIMIT);
    /* First the request, then the account: what another thread has asked for is seen in one or the other, since
       it is told only after it was counted. */
    size_t total = atomic_fetch_add_explicit(&asked, bytes, memory_order_acq_rel);
    if (__builtin_add_overflow(total, bytes, &total) || __builtin_add_overflow(total, footprint(), &total))
        total = SIZE_MAX;
    if (hard != 0 && total > hard) {
        atomic_fetch_sub_explicit(&asked, bytes, memory_order_release);
        counter_add(COUNT_LIMIT_REFUSALS, 1);
        self.due |= DUE_REFUSED;
        return false;
    }
    self.asked += bytes;
    if (soft != 0)
        note_for_soft_limit(soft, total);
    if (purger_wanted() && total > wants_looking_after())
        self.due |= DUE_PURGE_THREAD;
    return true;
}

SLOW void footprint_told_slow(void) {
    atomic_fetch_sub_explicit(&asked, self.asked, memory_order_release);
    self.asked = 0;
}

void footprint_ages(void) {
    purger_nudge();
    if (UNLIKELY(footprint_is_watched()) && purger_wanted() && footprint() > wants_looking_after())
        self.due |= DUE_PURGE_THREAD;
}

COLD bool footprint_could_serve(size_t bytes) {
    size_t hard = option(OPT_HARD_LIMIT);
    if (hard != 0 && bytes > hard)
        return false;
    size_t held = footprint() + window_bytes();
    if (bytes <= held)
        return true;
    size_t rest = bytes - held;
    if (rest > SIZE_MAX - os_facts.page)
        return false;
    rest = align_up(rest, os_facts.page);
    void *probe = os_map(rest, 0);
    return probe != NULL && os_unmap(probe, rest);
}

size_t footprint_may_keep(size_t have) {
    size_t limit = SIZE_MAX;
    if (option(OPT_SOFT_LIMIT) != 0)
        limit = option(OPT_SOFT_LIMIT);
    if (option(OPT_HARD_LIMIT) != 0)
        limit = size_min(limit, option(OPT_HARD_LIMIT));
    if (LIKELY(limit == SIZE_MAX))
        return SIZE_MAX;
    size_t all = footprint();
    size_t used = all > have ? all - have : 0;
    return limit > used ? (limit - used) / 2 : 0;
}

void footprint_watch(void) {
    bool watched = option(OPT_SOFT_LIMIT) != 0 || option(OPT_HARD_LIMIT) != 0 || purger_wanted();
    atomic_store_explicit(&footprint_watched, watched, memory_order_relaxed);
}

void footprint_begin(void) {
    if (option(OPT_SOFT_LIMIT_CGROUP) != 0 && option(OPT_SOFT_LIMIT) == 0)
        option_store(OPT_SOFT_LIMIT, os_read_memory_high());
    footprint_limits_changed();
}

void footprint_limits_changed(void) {
    atomic_store_explicit(&purge_at, option(OPT_SOFT_LIMIT), memory_order_relaxed);
    atomic_store_explicit(&armed, true, memory_order_relaxed);
    footprint_watch();
}

void footprint_purged(void) {
    size_t soft = option(OPT_SOFT_LIMIT);
    atomic_store_explicit(&purge_at, size_max(soft, footprint() + soft / PURGE_AGAIN), memory_order_relaxed);
}

bool footprint_crossing(void) {
    return footprint() > option(OPT_SOFT_LIMIT) &&
           atomic_exchange_explicit(&armed, false, memory_order_relaxed);
}

void footprint_fork_child(void) {
    atomic_store_explicit(&asked, self.asked, memory_order_relaxed);
}
