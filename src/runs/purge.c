#include "runs/purge.h"

#include "base/counter.h"
#include "chunk/footprint.h"
#include "chunk/purger.h"
#include "guard/assert.h"
#include "options/options.h"
#include "runs/space.h"

/* By age, so much goes at a time. */
#define AGE_STEP (8 * MIB)
/* Beyond the share so much may come together first, so that not each run that comes back is a call. */
#define SLACK (512 * KIB)
/* Beyond the share: twice what came, and this. */
#define SHARE_STEP (1 * MIB)

/* ---- how much may stay ---- */

static _Atomic size_t limit_seen; /* for a glance without the lock */
static uint64_t looked_us;        /* when `recent` was last cleared */

static size_t resident_free(void) {
    return space_totals.resident_free + atomic_load_explicit(&runs_idle, memory_order_relaxed);
}

/* Of idle pages in runs. */
static size_t idle_limit(uint64_t now) {
    size_t limit = keep_limit(&space_keep, space_totals.in_use, option(OPT_RUN_KEEP), now);
    limit = size_min(limit, footprint_may_keep(resident_free()));
    atomic_store_explicit(&limit_seen, limit, memory_order_relaxed);
    return limit;
}

/* Of these and free pages together: those that nobody has come in all sizes, of which few fit. */
static size_t limit_now(uint64_t now) {
    (void)idle_limit(now);
    size_t limit = keep_limit_with_holes(&space_keep, space_totals.in_use, option(OPT_RUN_KEEP), now);
    return size_min(limit, footprint_may_keep(resident_free()));
}

/* What age leaves alone: the share is for those who swing quickly. */
static size_t aged_limit(uint64_t now) {
    size_t limit = option(OPT_RUN_KEEP) + keep_learned_below_peak(&space_keep, space_totals.in_use, now);
    return size_min(limit, footprint_may_keep(resident_free()));
}

bool purge_keeps_beyond_share(void) {
    return resident_free() > keep_share(space_totals.in_use, option(OPT_RUN_KEEP));
}

bool purge_wants_idle(void) {
    size_t idle = atomic_load_explicit(&runs_idle, memory_order_relaxed);
    return idle > atomic_load_explicit(&limit_seen, memory_order_relaxed);
}

/* Less than this beyond the floor is not worth a look. */
#define AGE_LEAST (256 * KIB)

static bool leaves_to_age(size_t resident) {
    return resident > option(OPT_RUN_KEEP) + AGE_LEAST;
}

void purge_nudge_idle(void) {
    if (UNLIKELY(purger_is() == PURGER_ASLEEP) &&
        leaves_to_age(atomic_load_explicit(&runs_idle, memory_order_relaxed)))
        purger_nudge();
}

bool purge_regret(size_t bytes, uint64_t purged_us, uint64_t now) {
    if (!keep_regret(&space_keep, bytes, purged_us, now))
        return false;
    counter_add(COUNT_PURGE_REGRETS, bytes);
    return true;
}

/* ---- a stretch of pages ---- */

static enum { UNKNOWN, ZEROES, LEAVES } effect;

bool purge_zeroes(void) {
    return effect == ZEROES;
}

/* Of pages that nobody has.  False: the kernel refused. */
static bool give_up(char *start, size_t len) {
    volatile size_t *probe = (volatile size_t *)start;
    if (effect == UNKNOWN)
        *probe = SIZE_MAX;
    counter_add(COUNT_PURGED_BYTES, len);
    bool gone = os_purge(start, len);
    if (!gone)
        effect = LEAVES;
    else if (effect == UNKNOWN)
        effect = *probe == 0 ? ZEROES : LEAVES;
    return gone;
}

void purge_break_group(struct run_window *w, struct group *g) {
    g->huge = false;
    (void)os_advise_small((char *)w + (size_t)(g - w->group) * GROUP, GROUP);
}

/* Whether pages of g, but not all, may go. */
static bool may_break(struct run_window *w, struct group *g) {
    if (!g->huge)
        return true;
    size_t free = g->free_pages + atomic_load_explicit(&g->idle, memory_order_relaxed);
    if (free * os_facts.page < GROUP / 2)
        return false;
    purge_break_group(w, g);
    return true;
}

/* Free pages [page, page + n) that are all resident, in one group if the window has huge ones. */
static void purge_pages(struct run_window *w, size_t page, size_t n, uint64_t now) {
    char *start = page_start(w, page);
    size_t len = n * os_facts.page;
    if (give_up(start, len)) {
        for (size_t g = page * os_facts.page >> GROUP_SHIFT;
             g <= ((page + n) * os_facts.page - 1) >> GROUP_SHIFT; g++)
            w->group[g].purged_us = now;
        if (os_facts.strict_commit && os_decommit(start, len)) {
            bits_set(w->closed, page, n);
            space_totals.system -= len;
        }
    }
    bits_clear(w->resident, page, n);
    bits_clear(w->recent, page, n);
    place_taken(&w->resident_places, w->resident, pages_a_window(), page, n);
    w->resident_pages -= (unsigned)n;
    space_totals.resident_free -= len;
}

/* Up to `most` of the pages of `map`, from the end.  Returns how many went. */
static size_t purge_window(struct run_window *w, const uint64_t *map, size_t most, uint64_t now) {
    size_t a_group = whole_pages_in(GROUP);
    size_t went = 0;
    for (size_t end = pages_a_window(); went < most;) {
        size_t stop = bits_last(map, end, 0);
        if (stop == 0)
            break;
        size_t start = bits_last(map, stop, ~(uint64_t)0);
        end = start;
        size_t group = align_down(stop - 1, a_group);
        struct group *g = &w->group[group / a_group];
        if (g->huge) {
            end = start = size_max(start, group);
            bool whole = g->free_pages == a_group && stop - start == a_group;
            if (!whole && !may_break(w, g))
                continue;
        } else {
            while (group > start && !w->group[group / a_group - 1].huge)
                group -= a_group;
            start = size_max(start, group);
            if (stop - start > most - went)
                start = stop - (most - went);
            end = start;
        }
        purge_pages(w, start, stop - start, now);
        went += stop - start;
    }
    return went;
}

/* ---- many ---- */

/* Up to `most` pages; `aged`: those only that are not recent.  Returns how many went. */
static size_t purge_some(size_t most, bool aged, uint64_t now) {
    size_t went = 0;
    for (int kind = SPACE_KINDS - 1; kind >= 0; kind--) {
        for (struct run_window *w = space_windows[kind].newest; w != NULL && went < most; w = w->older) {
            if (w->resident_pages == 0)
                continue;
            uint64_t map[PAGE_WORDS];
            for (size_t i = 0; i < PAGE_WORDS; i++)
                map[i] = w->resident[i] & ~(aged ? w->recent[i] : 0);
            went += purge_window(w, map, most - went, now);
        }
    }
    return went;
}

void purge_beyond_share(size_t bytes) {
    uint64_t now = os_recent_us();
    size_t limit = limit_now(now);
    size_t resident = resident_free();
    if (leaves_to_age(resident))
        purger_nudge();
    if (resident <= limit + SLACK)
        return;
    size_t most = whole_pages_in(size_min(resident - limit, 2 * bytes + SHARE_STEP));
    size_t went = purge_some(most, true, now);
    if (went < most)
        went += purge_some(most - went, false, now);
    if (went > 0)
        space_drop_surplus();
}

void purge_before_growth(void) {
    static size_t peak; /* of what may be resident, bytes */
    size_t resident = space_totals.in_use + space_totals.resident_free;
    size_t floor = keep_share(space_totals.in_use, option(OPT_RUN_KEEP));
    floor += size_min(keep_learned(&space_keep, os_recent_us()), 2 * floor);
    if (resident <= peak)
        return;
    if (space_totals.resident_free > floor) {
        size_t most = size_min(resident - peak, space_totals.resident_free - floor);
        resident -= purge_some(whole_pages_in(most), false, os_recent_us()) * os_facts.page;
    }
    peak = size_max(peak, resident);
}

static void forget_recent(void) {
    for (int kind = 0; kind < SPACE_KINDS; kind++)
        for (struct run_window *w = space_windows[kind].oldest; w != NULL; w = w->newer)
            if (w->resident_pages > 0)
                __builtin_memset(w->recent, 0, sizeof w->recent);
}

void purge_by_age(void) {
    uint64_t now = os_recent_us();
    if (now - looked_us < option(OPT_PURGE_DELAY) * 1000 || option(OPT_PURGE_DELAY) == 0)
        return;
    size_t limit = aged_limit(now);
    if (resident_free() > limit) {
        size_t most = whole_pages_in(size_min(resident_free() - limit, AGE_STEP));
        if (most > 0 && purge_some(most, true, now) >= most && most == whole_pages_in(AGE_STEP))
            return; /* and there may be more: with the next call */
    }
    space_drop_surplus();
    forget_recent();
    looked_us = now;
}

bool purge_all_by_age(size_t *excess) {
    *excess = 0;
    /* Step by step, as long as whole steps go. */
    while (lock_take(&space_lock)) {
        size_t resident = space_totals.resident_free;
        purge_by_age();
        bool went = space_totals.resident_free < resident;
        size_t limit = aged_limit(os_recent_us());
        *excess = resident_free() > limit ? align_down(resident_free() - limit, os_facts.page) : 0;
        bool more = leaves_to_age(resident_free());
        space_leave();
        if (!went || *excess == 0)
            return more;
    }
    return true;
}

bool purge_free_pages(size_t keep) {
    bool gave = false;
    if (!lock_take(&space_lock))
        return false;
    uint64_t now = os_clock_us();
    while (space_totals.resident_free > keep) {
        size_t most = whole_pages_in(space_totals.resident_free - keep + os_facts.page - 1);
        if (purge_some(most, false, now) == 0)
            break;
        gave = true;
    }
    space_leave();
    return gave;
}

/* ---- in runs that are in use ---- */

static void purge_idle_held(struct run *r, uint64_t now) {
    unsigned bits = r->idle;
    while (bits != 0) {
        unsigned first = (unsigned)__builtin_ctz(bits);
        unsigned n = (unsigned)__builtin_ctz(~(bits >> first));
        if (give_up(run_start(r) + first * os_facts.page, n * os_facts.page))
            group_of(run_start(r))->purged_us = now;
        bits &= ~((1u << n) - 1) << first;
    }
    atomic_fetch_sub_explicit(&runs_idle, (unsigned)__builtin_popcount(r->idle) * os_facts.page,
                              memory_order_relaxed);
    footprint_gone((ptrdiff_t)((size_t)__builtin_popcount(r->idle) * os_facts.page));
    r->gone |= r->idle;
    r->idle = 0;
    r->gone_ms = (uint32_t)(now / 1000);
}

bool purge_idle(struct run *r, enum purge_why why) {
    if (!lock_take(&space_lock))
        return false;
    uint64_t now = os_recent_us();
    size_t limit = why == PURGE_ALL ? 0 : why == PURGE_AGED ? aged_limit(now) : idle_limit(now);
    size_t there = why == PURGE_BEYOND_SHARE ? atomic_load_explicit(&runs_idle, memory_order_relaxed) : resident_free();
    bool go = there > limit && may_break(window_of(r), group_of(run_start(r)));
    if (go)
        purge_idle_held(r, now);
    lock_release(&space_lock);
    return go;
}
