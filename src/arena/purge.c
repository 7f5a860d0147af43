#include "arena/purge.h"

#include "arena/arenas.h"
#include "arena/budget.h"
#include "arena/mapped_cache.h"
#include "arena/top.h"
#include "base/counter.h"
#include "guard/assert.h"
#include "options/options.h"
#include "options/threshold.h"
#include "os/os.h"

/* So many chunks lose their pages in one look. */
enum { STEP = 32 };

/* Free resident memory grows by so much before anybody looks. */
#define LOOK_STEP (256 * KIB)

static void count(size_t bytes) {
    counter_add(COUNT_HEAP_PURGES, 1);
    counter_add(COUNT_HEAP_PURGED_BYTES, bytes);
}

static void publish(struct arena *a) {
    budget_publish(a, free_resident(a), arena_in_use(a));
}

/* ---- pages inside ---- */

/* A refusal is as good as a purge: trying again would be refused again.  `lesson`: the time, if it was
   for the budget's sake; what goes for its age teaches nothing about the budget when it is used again. */
static bool purge_note(struct arena *a, struct page_note *n, uint64_t lesson) {
    size_t bytes = (size_t)(n->to - n->from);
    bool gone = os_purge(n->from, bytes);
    if (gone)
        count(bytes);
    pages_gone(a, n, gone ? lesson : 0);
    return gone;
}

static bool is_old(const struct page_note *n, uint64_t now) {
    uint64_t delay = (uint64_t)option(OPT_PURGE_DELAY) * 1000;
    return delay != 0 && now > n->freed_at && now - n->freed_at > delay;
}

static bool purge_pages(struct arena *a, uint64_t now) {
    bool gave = false;
    for (int i = 0; i < STEP; i++) {
        struct page_note *n = pages_coldest(a);
        bool old = n != NULL && is_old(n, now);
        if (n == NULL || (!old && budget_excess(now) == 0))
            break;
        gave |= purge_note(a, n, old ? 0 : now);
        publish(a);
    }
    return gave;
}

bool purge_all_pages(struct arena *a) {
    assert_argument(lock_is_mine(&a->lock));
    bool gave = false;
    struct page_note *n;
    while ((n = pages_coldest(a)) != NULL)
        gave |= purge_note(a, n, 0);
    publish(a);
    return gave;
}

/* ---- top ---- */

/* The pages of top behind its first `keep` bytes, where they are. */
static bool purge_top(struct arena *a, size_t keep) {
    char *from = ptr_align_up((char *)a->top + HEADER + keep, os_facts.page);
    char *to = ptr_align_up(a->top_touched, os_facts.page);
    char *end = ptr_align_down((char *)a->top + top_size(a), os_facts.page);
    to = to < end ? to : end;
    if (from >= to)
        return false;
    bool gone = os_purge(from, (size_t)(to - from));
    if (gone)
        count((size_t)(to - from));
    a->top_touched = from; /* a refusal: see purge_note() */
    return gone;
}

/* Leaves `keep` bytes of top, and the pad, resident.  In pieces of top_step at least, so that top does
   not grow and shrink a page at a time. */
static bool shorten_top(struct arena *a, size_t keep, uint64_t lesson) {
    size_t before = top_resident(a);
    keep += option(OPT_TOP_PAD);
    if (before < keep + option(OPT_TOP_STEP))
        return false;
    bool gave = top_trim(a, keep);
    gave |= purge_top(a, keep);
    size_t after = top_resident(a);
    if (gave && before > after && lesson != 0) {
        a->top_gone += before - after;
        a->top_gone_at = lesson;
    }
    publish(a);
    return gave;
}

/* What was never used of top since the last time is not needed, as far as that can be told. */
static bool shorten_old_top(struct arena *a, uint64_t now) {
    uint64_t delay = (uint64_t)option(OPT_PURGE_DELAY) * 1000;
    if (delay == 0 || now - a->top_low_since < delay)
        return false;
    size_t used = top_size(a) > a->top_low ? top_size(a) - a->top_low : 0;
    a->top_low = top_size(a);
    a->top_low_since = now;
    return shorten_top(a, used, 0);
}

/* ---- a look ---- */

/* Lessons since the last look. */
static void learn(struct arena *a, uint64_t now) {
    if (a->wanted_back > 0)
        budget_regret(a->wanted_back, a->wanted_back_at, now);
    else if (free_resident(a) < a->published_resident && budget_is_learned())
        budget_confirm(a->published_resident - free_resident(a), now);
    a->wanted_back = 0;
}

static bool give_back(struct arena *a, uint64_t now) {
    bool gave = purge_pages(a, now);
    if (top_size(a) == 0)
        return gave;
    size_t excess = budget_excess(now);
    if (excess > 0) {
        size_t resident = top_resident(a);
        gave |= shorten_top(a, resident > excess ? resident - excess : 0, now);
    }
    return shorten_old_top(a, now) || gave;
}

/* One of the others, in turn, if nobody is in it. */
static void help_another(struct arena *a, uint64_t now) {
    static struct arena *_Atomic turn = &main_arena;
    struct arena *other = atomic_load_explicit(&turn, memory_order_relaxed);
    atomic_store_explicit(&turn, arena_next(other), memory_order_relaxed);
    if (other == a || !lock_try(&other->lock))
        return;
    if (other->published_resident > 0)
        give_back(other, now);
    arena_leave(other);
}

SLOW bool purge_look(struct arena *a) {
    assert_argument(lock_is_mine(&a->lock));
    uint64_t now = os_clock_us();
    a->looked_at = now;
    a->unlooked = 0;
    learn(a, now);
    purge_note_peak(a);
    budget_peak(a, a->most_in_use, now);
    a->most_in_use = 0;
    publish(a);
    bool gave = give_back(a, now);
    help_another(a, now);
    mapped_cache_age();
    thresholds_age();
    bool more = pages_coldest(a) != NULL && budget_excess(now) > 0;
    a->look_above = more ? 0 : free_resident(a) + LOOK_STEP;
    return gave;
}
