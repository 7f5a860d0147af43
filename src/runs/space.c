#include "runs/space.h"

#include "base/leftover.h"
#include "chunk/footprint.h"
#include "guard/assert.h"
#include "options/options.h"
#include "runs/filled.h"
#include "runs/purge.h"

/* Pages become accessible in these steps: small ones at first; once there is much, whole huge pages'
   worth, for which huge pages are asked for, since such a step is about to be filled. */
#define OPEN_STEP (1 * MIB)

struct lock space_lock = LOCK_INIT(RANK_SPACE);
struct space_totals space_totals;
struct space_windows space_windows[SPACE_KINDS];
struct keep space_keep;
_Atomic size_t runs_idle;

void space_leave(void) {
    footprint_set_windows(space_totals.in_use + space_totals.resident_free + space_totals.heads);
    footprint_told();
    lock_release(&space_lock);
}

/* ---- windows ---- */

static size_t head_pages(void) {
    return HEAD_RUNS * whole_pages_in(RUN_SIZE);
}

static void count_group_pages(struct run_window *w, size_t page, size_t n, int sign) {
    size_t a_group = whole_pages_in(GROUP);
    for (size_t at = page, end = page + n; at < end;) {
        size_t stop = size_min(align_down(at, a_group) + a_group, end);
        struct group *g = &w->group[at / a_group];
        g->free_pages = (uint16_t)(g->free_pages + sign * (int)(stop - at));
        at = stop;
    }
}

static void add_to_list(struct run_window *w, enum space_kind kind) {
    struct space_windows *all = &space_windows[kind];
    w->older = all->newest;
    w->newer = NULL; /* it had one, if it could not be unmapped and comes back */
    if (all->newest != NULL)
        all->newest->newer = w;
    else
        all->oldest = w;
    all->newest = w;
}

static void remove_from_list(struct run_window *w) {
    struct space_windows *all = &space_windows[w->kind];
    *(w->older != NULL ? &w->older->newer : &all->oldest) = w->newer;
    *(w->newer != NULL ? &w->newer->older : &all->newest) = w->older;
}

static struct run_window *add_window(enum space_kind kind) {
    size_t head = head_pages();
    size_t pages = pages_a_window();
    if (!footprint_ask(head * os_facts.page))
        return NULL;
    struct run_window *w = window_create(WINDOW_RUNS, head * os_facts.page, "rung: runs");
    if (w == NULL)
        return NULL;
    /* Where the kernel makes huge pages unasked, it would fill up again what a purge has taken a part of. */
    if (option(OPT_HUGETLB) == 0)
        (void)os_advise_small(w, WINDOW);
    /* The kernel has zeroed the head. */
    __builtin_memset(w->slot, SLOT_PAGES, sizeof w->slot);
    w->kind = (uint8_t)kind;
    bits_set(w->free, head, pages - head);
    bits_set(w->closed, head, pages - head);
    w->free_pages = (unsigned)(pages - head);
    count_group_pages(w, head, pages - head, 1);
    add_to_list(w, kind);
    space_totals.system += head * os_facts.page;
    space_totals.heads += head * os_facts.page;
    space_totals.windows++;
    return w;
}

static bool is_empty(const struct run_window *w) {
    return w->free_pages == pages_a_window() - head_pages();
}

/* Accessible pages, the head's included. */
static size_t open_bytes(const struct run_window *w) {
    return WINDOW - bits_count(w->closed, 0, pages_a_window()) * os_facts.page;
}

static bool drop_window(struct run_window *w) {
    size_t open = open_bytes(w);
    size_t resident = w->resident_pages * os_facts.page;
    remove_from_list(w);
    if (!window_destroy(w)) {
        add_to_list(w, w->kind);
        return false;
    }
    space_totals.system -= open;
    space_totals.resident_free -= resident;
    space_totals.heads -= head_pages() * os_facts.page;
    space_totals.windows--;
    return true;
}

bool space_drop_empty(void) {
    bool dropped = false;
    if (!lock_take(&space_lock))
        return false;
    for (int kind = 0; kind < SPACE_KINDS; kind++) {
        for (struct run_window *w = space_windows[kind].newest, *older; w != NULL; w = older) {
            older = w->older;
            dropped |= is_empty(w) && drop_window(w);
        }
    }
    space_leave();
    return dropped;
}

/* One empty window of a kind is enough to go up and down by; of more, those go that have nothing resident. */
static void drop_second(struct run_window *w) {
    if (!is_empty(w) || w->resident_pages > 0)
        return;
    for (struct run_window *x = space_windows[w->kind].oldest; x != NULL; x = x->newer)
        if (x != w && is_empty(x)) {
            (void)drop_window(w);
            return;
        }
}

void space_drop_surplus(void) {
    for (int kind = 0; kind < SPACE_KINDS; kind++)
        for (struct run_window *w = space_windows[kind].newest, *older; w != NULL; w = older) {
            older = w->older;
            drop_second(w);
        }
}

/* ---- opening ---- */

/* Huge pages for the groups that lie wholly in [page, page + n), which have just become accessible. */
static void advise_huge(struct run_window *w, size_t page, size_t n) {
    size_t a_group = whole_pages_in(GROUP);
    for (size_t at = align_up(page, a_group); at + a_group <= page + n; at += a_group)
        w->group[at / a_group].huge = os_advise_huge(page_start(w, at), GROUP);
}

/* Whether huge pages are worth while at all.  Whoever has set a limit wants no page that is not needed. */
static bool large_enough_for_huge(void) {
    return !footprint_is_watched() && option(OPT_RUN_HUGE_FROM) != 0 && space_totals.system >= option(OPT_RUN_HUGE_FROM);
}

/* Blocks of a group and more; and groups that smaller ones and larger objects share, which take one group after
   the other. */
static struct filled large_filled, shared_filled;

/* n closed pages become accessible. */
static bool open_stretch(struct run_window *w, size_t page, size_t n, bool huge) {
    if (!os_commit(page_start(w, page), n * os_facts.page))
        return false;
    space_totals.system += n * os_facts.page;
    bits_clear(w->closed, page, n);
    if (huge)
        advise_huge(w, page, n);
    return true;
}

/* Closed pages [page, last), of which one group at most is whole. */
static bool will_be_filled(struct run_window *w, size_t page, size_t last) {
    size_t a_group = whole_pages_in(GROUP);
    size_t group = align_up(page, a_group);
    if (w->kind == SPACE_SMALL)
        return true;
    return group + a_group <= last && filled_expected(&shared_filled, page_start(w, group), GROUP);
}

/* Makes the closed pages among [page, page + n) accessible, and some behind them, so that it is not done
   for each run; not beyond the next page that is open, since what follows it may be in use. */
static bool open_pages(struct run_window *w, size_t page, size_t n) {
    bool huge = large_enough_for_huge() && n < whole_pages_in(GROUP);
    size_t step = whole_pages_in(os_facts.strict_commit ? RUN_SIZE : huge ? GROUP : OPEN_STEP);
    size_t last = size_min(align_up(page + n, step), pages_a_window());
    for (size_t at = page, stop; (at = bits_next_set(w->closed, at, page + n)) < page + n; at = stop) {
        stop = bits_next_clear(w->closed, at, last);
        if (!open_stretch(w, at, stop - at, huge && will_be_filled(w, at, stop)))
            return false;
    }
    return true;
}

/* ---- taking ---- */

/* Pages [from, to) of group g, which were given back at some time, are taken, `gone` of them not resident.
 *
 * A large block that takes all of a group that was full before will likely fill it again: in one huge
 * page, for which the kernel needs one fault and not 512.  One that takes a part only shall not make
 * the rest resident. */
static void take_gone(struct run_window *w, struct group *g, size_t from, size_t to, size_t gone, uint64_t now) {
    size_t a_group = whole_pages_in(GROUP);
    bool soon = purge_regret(gone * os_facts.page, g->purged_us, now);
    if (w->kind != SPACE_LARGE)
        return;
    if (g->huge && to - from < a_group)
        purge_break_group(w, g);
    else if (!g->huge && gone == a_group && soon && large_enough_for_huge())
        g->huge = os_advise_huge(page_start(w, from), GROUP);
}

/* What the program takes again although it was given back, or was kept for it, is a lesson. */
static void learn(struct run_window *w, size_t page, size_t n, size_t resident) {
    size_t a_group = whole_pages_in(GROUP);
    uint64_t now = os_recent_us();
    if (resident > 0 && purge_keeps_beyond_share())
        keep_confirm(&space_keep, resident * os_facts.page, now);
    if (resident == n)
        return;
    for (size_t from = page, to; from < page + n; from = to) {
        to = size_min(align_down(from, a_group) + a_group, page + n);
        struct group *g = &w->group[from / a_group];
        size_t closed = bits_count(w->closed, from, to - from);
        size_t gone = to - from - bits_count(w->resident, from, to - from) - closed;
        if (g->purged_us == 0)
            continue;
        if (gone > 0)
            take_gone(w, g, from, to, gone, now);
        if (closed > 0 && os_facts.strict_commit) /* by the purge, mostly: little is opened in advance */
            (void)purge_regret(closed * os_facts.page, g->purged_us, now);
    }
}

/* The pages [page, page + n) are about to become a large block's.  Groups of which nothing is resident get huge
   pages, if the last owners of such have filled them. */
static void ease_filling(struct run_window *w, size_t page, size_t n) {
    size_t a_group = whole_pages_in(GROUP);
    enum { UNASKED, YES, NO } filled = UNASKED;
    if (!large_enough_for_huge())
        return;
    for (size_t at = align_up(page, a_group); at + a_group <= page + n; at += a_group) {
        struct group *g = &w->group[at / a_group];
        if (g->huge || bits_count(w->resident, at, a_group) > 0)
            continue;
        if (filled == UNASKED)
            filled = filled_expected(&large_filled, page_start(w, at), GROUP) ? YES : NO;
        if (filled == YES)
            g->huge = os_advise_huge(page_start(w, at), GROUP);
    }
}

/* Free pages become the caller's.  False: they could not be made accessible, or are too much. */
static bool claim(struct run_window *w, size_t page, size_t n, enum page_state *state) {
    size_t resident = bits_count(w->resident, page, n);
    if (!footprint_ask((n - resident) * os_facts.page))
        return false;
    learn(w, page, n, resident);
    bool untouched = bits_all(w->closed, page, n);
    if (!open_pages(w, page, n))
        return false;
    if (w->kind == SPACE_LARGE)
        ease_filling(w, page, n);
    *state = resident > 0 ? PAGES_RESIDENT : untouched || purge_zeroes() ? PAGES_ZERO : PAGES_GONE;
    bits_clear(w->free, page, n);
    bits_clear(w->resident, page, n);
    bits_clear(w->recent, page, n);
    place_taken(&w->free_places, w->free, pages_a_window(), page, n);
    place_taken(&w->resident_places, w->resident, pages_a_window(), page, n);
    w->free_pages -= (unsigned)n;
    w->resident_pages -= (unsigned)resident;
    count_group_pages(w, page, n, -1);
    space_totals.resident_free -= resident * os_facts.page;
    space_totals.in_use += n * os_facts.page;
    return true;
}

/* n pages at a multiple of align. */
struct wish {
    size_t n;
    size_t align;
    bool slot; /* for a run */
};

/* In pages that are resident, or in any that are free. */
static char *claim_in(struct run_window *w, bool resident, struct wish x, enum page_state *state) {
    size_t end = pages_a_window();
    if ((resident ? w->resident_pages : w->free_pages) < x.n)
        return NULL;
    size_t page = place_find(resident ? &w->resident_places : &w->free_places,
                             resident ? w->resident : w->free, end, x.n, x.align, x.slot);
    return page < end && claim(w, page, x.n, state) ? page_start(w, page) : NULL;
}

static char *claim_in_any(enum space_kind kind, bool resident, struct wish x, enum page_state *state) {
    char *start = NULL;
    for (struct run_window *w = space_windows[kind].oldest; w != NULL && start == NULL; w = w->newer)
        start = claim_in(w, resident, x, state);
    return start;
}

static char *take_held(enum space_kind kind, struct wish x, enum page_state *state) {
    char *start = claim_in_any(kind, true, x, state);
    if (start == NULL)
        start = claim_in_any(kind, false, x, state);
    if (start != NULL)
        return start;
    if (UNLIKELY((self.due & DUE_REFUSED) != 0))
        return NULL; /* a new window would be refused its pages as well */
    struct run_window *w = add_window(kind);
    if (w == NULL)
        return NULL;
    start = claim_in(w, false, x, state);
    if (start == NULL)
        (void)drop_window(w);
    return start;
}

char *space_take(enum space_kind kind, size_t bytes, size_t align, enum page_state *state) {
    assert_argument(bytes <= WINDOW / 2 && align <= WINDOW / 2);
    if (!lock_take(&space_lock))
        return NULL;
    struct wish x = {whole_pages_in(bytes), whole_pages_in(align), bytes == RUN_SIZE && align == RUN_SIZE};
    char *start = take_held(kind, x, state);
    if (start != NULL) {
        keep_saw(&space_keep, space_totals.in_use, os_recent_us());
        purge_before_growth();
    }
    purge_by_age();
    space_leave();
    return start;
}

bool space_extend(char *start, size_t bytes, size_t more) {
    struct run_window *w = window_of(start);
    size_t page = page_number(start) + whole_pages_in(bytes);
    size_t n = whole_pages_in(more);
    enum page_state state;
    if (page + n > pages_a_window() || !lock_take(&space_lock))
        return false;
    bool free = bits_all(w->free, page, n) && claim(w, page, n, &state);
    space_leave();
    return free;
}

/* ---- giving ---- */

static void give_held(char *start, size_t bytes, uint16_t gone) {
    assert_argument(lock_is_mine(&space_lock));
    struct run_window *w = window_of(start);
    size_t page = page_number(start);
    size_t n = whole_pages_in(bytes);
    filled_before_give(&large_filled, start, bytes);
    filled_before_give(&shared_filled, start, bytes);
    bits_set(w->free, page, n);
    bits_set(w->resident, page, n);
    bits_set(w->recent, page, n);
    size_t resident = n;
    for (; gone != 0; gone &= (uint16_t)(gone - 1)) {
        size_t p = page + (size_t)__builtin_ctz(gone);
        bits_clear(w->resident, p, 1);
        bits_clear(w->recent, p, 1);
        resident--;
    }
    w->free_pages += (unsigned)n;
    w->resident_pages += (unsigned)resident;
    size_t slot = whole_pages_in(RUN_SIZE);
    place_freed(&w->free_places, w->free, pages_a_window(), page, n, slot);
    for (size_t at = page, stop; (at = bits_next_set(w->resident, at, page + n)) < page + n; at = stop) {
        stop = bits_next_clear(w->resident, at, page + n);
        place_freed(&w->resident_places, w->resident, pages_a_window(), at, stop - at, slot);
    }
    count_group_pages(w, page, n, 1);
    space_totals.in_use -= bytes;
    space_totals.resident_free += resident * os_facts.page;
    purge_beyond_share(bytes);
}

/* Ranges that came while the lock was not to be had. */
static _Atomic(struct leftover *) leftovers;

static void gather(void) {
    struct leftover *next;
    for (struct leftover *r = leftover_take_all(&leftovers); r != NULL; r = next) {
        next = r->next;
        give_held((char *)r, r->len, 0);
    }
}

void space_give(char *start, size_t bytes, uint16_t gone) {
    if (!lock_take(&space_lock)) {
        leftover_push(&leftovers, start, bytes);
        return;
    }
    gather();
    give_held(start, bytes, gone);
    purge_by_age();
    space_leave();
}
