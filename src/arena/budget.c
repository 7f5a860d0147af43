#include "arena/budget.h"

#include "base/counter.h"
#include "chunk/footprint.h"
#include "options/keep.h"
#include "options/options.h"

struct lock budget_lock = LOCK_INIT(RANK_BUDGET);

static struct keep keep; /* guarded by budget_lock */
static _Atomic size_t all_in_use;

static size_t all_resident(void) {
    return counter_get(COUNT_HEAP_RESIDENT_FREE);
}

void budget_publish(struct arena *a, size_t resident, size_t in_use) {
    counter_add(COUNT_HEAP_RESIDENT_FREE, resident - a->published_resident);
    atomic_fetch_add_explicit(&all_in_use, in_use - a->published_in_use, memory_order_relaxed);
    a->published_resident = resident;
    a->published_in_use = in_use;
}

static size_t in_use(void) {
    return atomic_load_explicit(&all_in_use, memory_order_relaxed);
}

void budget_peak(struct arena *a, size_t most, uint64_t now) {
    if (!lock_try(&budget_lock))
        return;
    keep_saw(&keep, in_use() - a->published_in_use + most, now);
    lock_release(&budget_lock);
}

bool budget_is_learned(void) {
    return all_resident() > keep_share(in_use(), option(OPT_ARENA_KEEP));
}

size_t budget_excess(uint64_t now) {
    size_t used = in_use(), resident = all_resident();
    size_t limit = SIZE_MAX; /* somebody else is at it */
    if (lock_try(&budget_lock)) {
        limit = keep_limit_with_holes(&keep, used, option(OPT_ARENA_KEEP), now);
        lock_release(&budget_lock);
    }
    limit = size_min(limit, footprint_may_keep(resident));
    return resident > limit ? resident - limit : 0;
}

void budget_regret(size_t bytes, uint64_t purged_at, uint64_t now) {
    counter_add(COUNT_HEAP_REGRETS, bytes);
    if (!lock_try(&budget_lock))
        return;
    (void)keep_regret(&keep, bytes, purged_at, now);
    lock_release(&budget_lock);
}

void budget_confirm(size_t bytes, uint64_t now) {
    if (!lock_try(&budget_lock))
        return;
    keep_confirm(&keep, bytes, now);
    lock_release(&budget_lock);
}
