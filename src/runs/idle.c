#include "runs/idle.h"

#include "chunk/footprint.h"
#include "options/options.h"
#include "runs/size_class.h"
#include "runs/space.h"

/* Whether all objects from `first` to `last` are free. */
static bool all_free(struct run *r, size_t first, size_t last) {
#define TEST(word, mask)                                                                           \
    if ((~*object_word(r, word) & (mask)) != 0)                                                    \
    return false
    BITS_EACH_WORD(first, last - first + 1, TEST)
#undef TEST
    return true;
}

/* What lies behind the last object belongs to none. */
bool idle_page(struct run *r, size_t page) {
    size_t last_object = run_object_index(r->bin, RUN_SIZE - run_bin_size(r->bin));
    size_t first = run_object_index(r->bin, page * os_facts.page);
    size_t last = run_object_index(r->bin, (page + 1) * os_facts.page - 1);
    return first > last_object || all_free(r, first, size_min(last, last_object));
}

static void count(struct run *r, int idle_pages, int known_pages) {
    size_t bytes = (size_t)(idle_pages > 0 ? idle_pages : -idle_pages) * os_facts.page;
    if (idle_pages > 0)
        atomic_fetch_add_explicit(&runs_idle, bytes, memory_order_relaxed);
    else
        atomic_fetch_sub_explicit(&runs_idle, bytes, memory_order_relaxed);
    if (known_pages != idle_pages)
        footprint_gone((known_pages - idle_pages) * (ptrdiff_t)os_facts.page);
    if (known_pages > 0)
        atomic_fetch_add_explicit(&group_of(run_start(r))->idle, (uint16_t)known_pages,
                                  memory_order_relaxed);
    else
        atomic_fetch_sub_explicit(&group_of(run_start(r))->idle, (uint16_t)-known_pages,
                                  memory_order_relaxed);
}

/* Pages of r are resident, and no object on them is out.  `known`: how many of them were not gone before. */
static void become_idle(struct idle_list *l, struct run *r, unsigned pages, int known) {
    if (r->idle == 0)
        list_insert_after(l->head.prev, &r->idle_link);
    r->idle |= (uint16_t)pages;
    r->idle_ms = (uint32_t)(os_recent_us() / 1000);
    count(r, __builtin_popcount(pages), known);
}

void idle_begin(struct idle_list *l, struct run *r, bool resident) {
    int pages = (int)whole_pages_in(RUN_SIZE);
    uint32_t now_ms = (uint32_t)(os_recent_us() / 1000);
    uint16_t all = (uint16_t)((1u << pages) - 1);
    r->idle_ms = now_ms;
    r->gone_ms = now_ms - (uint32_t)(2 * KEEP_SOON_US / 1000); /* nobody will regret it */
    if (resident) {
        r->idle = all;
        list_insert_after(l->head.prev, &r->idle_link);
    } else {
        r->gone = all;
    }
    count(r, resident ? pages : 0, pages);
}

void idle_after_give(struct idle_list *l, struct run *r, unsigned pages) {
    unsigned became = 0;
    pages &= ~(unsigned)(r->idle | r->gone);
    for (; pages != 0; pages &= pages - 1)
        if (idle_page(r, (size_t)__builtin_ctz(pages)))
            became |= pages & -pages;
    if (became == 0)
        return;
    become_idle(l, r, became, __builtin_popcount(became));
}

/* So many pages that were given back are wanted again. */
static void regret(struct run *r, unsigned gone_pages) {
    uint64_t now = os_recent_us();
    uint32_t since = (uint32_t)(now / 1000) - r->gone_ms;
    if (since > KEEP_SOON_US / 1000 || !lock_take(&space_lock))
        return;
    purge_regret(gone_pages * os_facts.page, now, now);
    lock_release(&space_lock);
}

/* How many pages of r to make resident in one call when the first of them is wanted: as many as are in use already
   and one, so that a size that is hardly used has a page at a time, and one that grows a quarter of the page
   faults.  1: none but the one, which its owner's touch may do. */
static unsigned pages_at_once(const struct run *r) {
    size_t most = option(OPT_RUN_POPULATE) / os_facts.page;
    if (run_bin_size(r->bin) > os_facts.page || footprint_is_watched() || group_of(run_start(r))->huge)
        return 1;
    size_t in_use = whole_pages_in(RUN_SIZE) - (size_t)__builtin_popcount(r->idle | r->gone);
    return (unsigned)size_min(in_use + 1, most);
}

/* The first of the gone pages, and what follows it, become resident: idle, as far as they are not wanted. */
static void populate(struct idle_list *l, struct run *r, unsigned gone) {
    unsigned first = (unsigned)__builtin_ctz(gone);
    unsigned there = (unsigned)__builtin_ctz(~((unsigned)r->gone >> first));
    unsigned n = (unsigned)size_min(pages_at_once(r), there);
    if (n < 2 || !os_populate(run_start(r) + first * os_facts.page, n * os_facts.page))
        return;
    unsigned early = ((1u << n) - 1) << first & ~gone;
    if (early == 0)
        return;
    r->gone &= (uint16_t)~early;
    become_idle(l, r, early, 0);
}

void idle_before_take(struct idle_list *l, struct run *r, size_t offset, size_t end) {
    unsigned pages = idle_pages_of(offset, end - offset);
    unsigned idle = r->idle & pages;
    unsigned gone = r->gone & pages;
    if ((idle | gone) == 0)
        return;
    if (gone != 0)
        populate(l, r, gone);
    r->idle &= (uint16_t)~idle;
    r->gone &= (uint16_t)~gone;
    if (idle != 0 && r->idle == 0)
        list_remove(&r->idle_link);
    count(r, -__builtin_popcount(idle), -__builtin_popcount(idle | gone));
    if (gone != 0)
        regret(r, (unsigned)__builtin_popcount(gone));
}

void idle_forget(struct run *r) {
    if (r->idle != 0)
        list_remove(&r->idle_link);
    count(r, -__builtin_popcount(r->idle), -__builtin_popcount(r->idle | r->gone));
}

static struct run *first_of(const struct idle_list *l) {
    return (struct run *)((char *)l->head.next - offsetof(struct run, idle_link));
}

bool idle_purge(struct idle_list *l, size_t most, enum purge_why why) {
    uint32_t now_ms = (uint32_t)(os_recent_us() / 1000);
    const struct run *stayed = NULL; /* the first of those that went to the end */
    bool went = false;
    for (size_t i = 0; i < most && !list_empty(&l->head) && first_of(l) != stayed; i++) {
        struct run *r = first_of(l);
        if (why == PURGE_AGED && now_ms - r->idle_ms < option(OPT_PURGE_DELAY))
            break;
        list_remove(&r->idle_link);
        if (purge_idle(r, why)) {
            went = true;
            continue;
        }
        list_insert_after(l->head.prev, &r->idle_link); /* it may stay, or its huge page shall */
        if (stayed == NULL)
            stayed = r;
    }
    return went;
}
