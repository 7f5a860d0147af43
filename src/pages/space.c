#include "pages/space.h"

#include "base/counter.h"
#include "chunk/footprint.h"
#include "guard/assert.h"
#include "options/options.h"

/* Pages become accessible in these steps: small ones at first; once there is much, whole huge pages'
   worth, for which huge pages are asked for, since such a step is about to be filled. */
#define OPEN_STEP (1 * MIB)
#define HUGE_STEP (2 * MIB)

struct lock pages_lock = LOCK_INIT(RANK_SPACE);
struct pages_totals pages_totals;

static unsigned empty_windows[SPACE_KINDS]; /* with nothing in use */

/* ---- windows ---- */

static size_t bytes_of(size_t pages) {
    return pages * os_facts.page;
}

static struct page_map *add_window(enum space_kind kind) {
    size_t head = bytes_of(head_pages());
    if (!footprint_ask(head))
        return NULL;
    void *window = window_create(WINDOW_RUNS, head, "rung: runs");
    if (window == NULL)
        return NULL;
    struct page_map *m = page_map_of(window);
    unsigned number = windows_add(m);
    if (number == 0) {
        (void)window_destroy(window);
        return NULL;
    }
    /* Where the kernel makes huge pages unasked, it would fill up again what a purge has taken a part of. */
    if (option(OPT_HUGETLB) == 0)
        (void)os_advise_small(window, WINDOW);
    /* The kernel has zeroed the head. */
    __builtin_memset(window, SLOT_OF_PAGES, SLOTS_A_WINDOW);
    map_begin(m, number, kind);
    pages_totals.system += head;
    pages_totals.heads += head;
    pages_totals.windows++;
    empty_windows[kind]++;
    return m;
}

/* m has nothing in use. */
static bool drop_window(struct page_map *m) {
    enum space_kind kind = m->kind;
    size_t open = bytes_of(m->open_pages), resident = bytes_of(m->resident_pages);
    map_end(m);
    windows_remove(m);
    if (!window_destroy(window_of(m))) {
        m->number = (uint16_t)windows_add(m);
        map_list_again(m);
        return false;
    }
    pages_totals.system -= open;
    pages_totals.resident_free -= resident;
    pages_totals.heads -= bytes_of(head_pages());
    pages_totals.windows--;
    empty_windows[kind]--;
    return true;
}

bool space_drop(void) {
    bool dropped = false;
    for (unsigned i = page_windows_end; i-- > 1;)
        if (page_windows[i] != NULL && page_windows[i]->used_pages == 0)
            dropped |= drop_window(page_windows[i]);
    return dropped;
}

/* One empty window of a kind is enough to go up and down by; of more, those go that have nothing resident. */
static void drop_surplus(struct page_map *m) {
    if (m->used_pages == 0 && m->resident_pages == 0 && empty_windows[m->kind] > 1)
        (void)drop_window(m);
}

/* ---- huge pages ---- */

/* Whether they are worth while at all.  Whoever has set a limit wants no page that is not needed. */
static bool large_enough_for_huge(void) {
    return !footprint_is_watched() && option(OPT_RUN_HUGE_FROM) != 0 && pages_totals.system >= option(OPT_RUN_HUGE_FROM);
}

/* Objects fill what is opened for them.  What was asked for in a window is taken back in all of it at once, when
   a part is purged (the kernel would fill that up again): so a window has two stretches at most of which the kernel
   was told different things, however often. */
static void advise_huge(struct page_map *m, size_t page, size_t n) {
    char *from = ptr_align_up(page_start(m, page), HUGE_STEP);
    char *to = page_start(m, page + n);
    if (from + HUGE_STEP <= to && os_advise_huge(from, align_down((size_t)(to - from), HUGE_STEP)))
        m->huge = true;
}

static void break_huge(struct page_map *m) {
    if (!m->huge)
        return;
    m->huge = false;
    m->broken = true;
    (void)os_advise_small(window_of(m), WINDOW);
}

/* ---- opening ---- */

/* The closed pages in [page, end) are accessible, though nobody will have them now; spans start at `in` and `end`. */
static void keep_open(struct page_map *m, size_t in, size_t page, size_t end) {
    for (size_t at = in, next; at < end; at = next) {
        next = at + m->pages[at];
        if (m->state[at] != SPAN_CLOSED)
            continue;
        size_t from = size_max(at, page), n = next - from;
        if (next < end && m->state[next] == SPAN_GONE) /* which it joins */
            next += m->pages[next];
        map_open(m, at, from, n);
        pages_totals.system += bytes_of(n);
    }
}

/* Makes the closed pages in [page, page + n) accessible, where spans start at `in`.  *beyond: so many behind them
   as well, so that it is not done for each run.  False: the kernel refuses. */
static bool open_pages(struct page_map *m, size_t in, size_t page, size_t n, size_t *beyond) {
    bool huge = m->kind == SPACE_SMALL && !m->broken && large_enough_for_huge();
    size_t step = whole_pages_in(os_facts.strict_commit ? SLOT_SIZE : huge ? HUGE_STEP : OPEN_STEP);
    size_t end = page + n;
    *beyond = 0;
    for (size_t at = in, stop; at < end; at = stop) {
        stop = at + m->pages[at];
        if (m->state[at] != SPAN_CLOSED)
            continue;
        size_t from = size_max(at, page);
        size_t to = stop <= end ? stop : size_min(align_up(end, step), stop);
        if (!os_commit(page_start(m, from), bytes_of(to - from))) {
            keep_open(m, in, page, at);
            return false;
        }
        *beyond = to > end ? to - end : 0;
        if (huge)
            advise_huge(m, from, to - from);
    }
    return true;
}

/* ---- taking ---- */

static void count_taken(struct page_map *m, size_t end, size_t beyond, const struct taken *t) {
    size_t n = t->resident + t->gone + t->closed;
    m->open_pages += (unsigned)t->closed;
    if (beyond > 0)
        map_open(m, end, end, beyond);
    pages_totals.system += bytes_of(t->closed + beyond);
    pages_totals.resident_free -= bytes_of(t->resident);
    pages_totals.in_use += bytes_of(n);
}

/* The free pages [page, page + n), of spans that start at `in`. */
static char *claim(struct page_map *m, size_t in, size_t page, size_t n, struct taken *t) {
    size_t beyond;
    bool empty = m->used_pages == 0;
    (void)map_look(m, in, page + n - in, t);
    /* What lies before `page` is of the one span it starts in. */
    *(m->state[in] == SPAN_RESIDENT ? &t->resident : m->state[in] == SPAN_GONE ? &t->gone : &t->closed) -= page - in;
    if (!footprint_ask(bytes_of(t->gone + t->closed)) || !open_pages(m, in, page, n, &beyond))
        return NULL;
    map_take(m, in, page, n);
    count_taken(m, page + n, beyond, t);
    empty_windows[m->kind] -= empty;
    return page_start(m, page);
}

/* Free pages before a span that is not resident go first, if they are, or are open already: what grows into
   untouched memory leaves no holes behind. */
static size_t start_before(const struct page_map *m, size_t page) {
    enum { STEPS = 4 };
    for (int i = 0; i < STEPS && span_is_free(m->state[page - 1]); i++)
        page -= m->pages[page - 1];
    return page;
}

static char *claim_found(span_id id, size_t n, size_t align, size_t at, struct taken *t) {
    struct page_map *m = span_map(id);
    size_t in = span_page(id);
    if (align == 1 && m->state[in] != SPAN_RESIDENT)
        at = in = start_before(m, in);
    return claim(m, in, at, n, t);
}

char *space_claim(enum space_kind kind, size_t n, size_t align, struct taken *t) {
    size_t at;
    span_id id = lists_find(kind, true, n, align, &at);
    if (id == 0)
        id = lists_find(kind, false, n, align, &at);
    if (id != 0)
        return claim_found(id, n, align, at, t);
    if (UNLIKELY((self.due & DUE_REFUSED) != 0))
        return NULL; /* a new window would be refused its pages as well */
    struct page_map *m = add_window(kind);
    if (m == NULL)
        return NULL;
    char *start = claim(m, head_pages(), align_up(head_pages(), align), n, t);
    if (start == NULL)
        (void)drop_window(m);
    return start;
}

bool space_claim_more(char *start, size_t n, struct taken *t) {
    struct page_map *m = page_map_of(start);
    size_t page = page_number(start);
    size_t end = page + m->pages[page];
    size_t beyond;
    if (!map_look(m, end, n, t) || !footprint_ask(bytes_of(t->gone + t->closed)) ||
        !open_pages(m, end, end, n, &beyond))
        return false;
    map_extend(m, page, n);
    count_taken(m, end + n, beyond, t);
    return true;
}

/* ---- giving ---- */

void space_free(char *start) {
    struct page_map *m = page_map_of(start);
    size_t page = page_number(start);
    size_t bytes = bytes_of(m->pages[page]);
    map_give(m, page);
    pages_totals.in_use -= bytes;
    pages_totals.resident_free += bytes;
    empty_windows[m->kind] += m->used_pages == 0;
}

void space_free_end(char *start, size_t n) {
    map_shrink(page_map_of(start), page_number(start), n);
    pages_totals.in_use -= bytes_of(n);
    pages_totals.resident_free += bytes_of(n);
}

/* ---- purging ---- */

static enum { UNKNOWN, ZEROES, LEAVES } effect;

bool space_purge_zeroes(void) {
    return effect == ZEROES;
}

bool space_purge_used(char *start, size_t len) {
    volatile size_t *probe = (volatile size_t *)start;
    if (effect == UNKNOWN)
        *probe = SIZE_MAX;
    counter_add(COUNT_PURGED_BYTES, len);
    break_huge(page_map_of(start));
    bool gone = os_purge(start, len);
    if (!gone)
        effect = LEAVES;
    else if (effect == UNKNOWN)
        effect = *probe == 0 ? ZEROES : LEAVES;
    return gone;
}

bool space_purge(span_id id, size_t n) {
    struct page_map *m = span_map(id);
    size_t page = span_page(id);
    char *start = page_start(m, page + m->pages[page] - n);
    bool gone = space_purge_used(start, bytes_of(n));
    bool closed = gone && os_facts.strict_commit && os_decommit(start, bytes_of(n));
    map_gone(m, page, n, closed);
    pages_totals.resident_free -= bytes_of(n);
    pages_totals.system -= closed ? bytes_of(n) : 0;
    drop_surplus(m);
    return gone;
}

/* ---- looking ---- */

const char *space_check_pages(const void **where) {
    struct pages_totals t = {0};
    for (unsigned i = 1; i < page_windows_end; i++) {
        struct page_map *m = page_windows[i];
        if (m == NULL)
            continue;
        *where = m;
        if (m->number != i || m->kind >= SPACE_KINDS || window_use_of(m) != WINDOW_RUNS)
            return "a window is in the wrong place";
        const char *wrong = map_check(m);
        if (wrong != NULL)
            return wrong;
        t.windows++;
        t.heads += bytes_of(head_pages());
        t.resident_free += bytes_of(m->resident_pages);
        t.in_use += bytes_of(m->used_pages);
        t.system += bytes_of(m->open_pages);
    }
    *where = NULL;
    if (t.resident_free != pages_totals.resident_free || t.in_use != pages_totals.in_use ||
        t.system != pages_totals.system || t.heads != pages_totals.heads || t.windows != pages_totals.windows)
        return "the windows' pages do not add up";
    return NULL;
}
