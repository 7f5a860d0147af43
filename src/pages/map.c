#include "pages/map.h"

#include "guard/assert.h"
#include "pages/lists.h"

/* Writes what is said of a span, at both its ends. */
static void write_span(struct page_map *m, size_t page, size_t n, enum span_state state) {
    m->pages[page] = m->pages[page + n - 1] = (uint16_t)n;
    m->state[page] = m->state[page + n - 1] = (uint8_t)state;
}

/* A free span out of nothing. */
static void add_free(struct page_map *m, size_t page, size_t n, enum span_state state, span_id warmer) {
    if (n == 0)
        return;
    write_span(m, page, n, state);
    lists_add(m, page, warmer);
}

static span_id id_at(const struct page_map *m, size_t page) {
    return (span_id)m->number << SPAN_PAGE_BITS | (span_id)page;
}

/* The same, joined with what is beside it in the same state.  A resident one that is longer than what it joins
   has a time of its own, else theirs. */
static void join_free(struct page_map *m, size_t page, size_t n, enum span_state state, span_id warmer) {
    size_t longest = n;
    size_t after = page + n;
    if (after < pages_a_window() && m->state[after] == state) {
        size_t more = m->pages[after];
        span_id theirs = lists_remove(m, after);
        warmer = more > longest ? theirs : warmer;
        longest = size_max(longest, more);
        n += more;
    }
    if (m->state[page - 1] == state) {
        size_t more = m->pages[page - 1];
        page -= more;
        span_id theirs = lists_remove(m, page);
        if (warmer == id_at(m, page)) /* what it should have gone behind is itself a part of it */
            warmer = theirs;
        warmer = more > longest ? theirs : warmer;
        n += more;
    }
    add_free(m, page, n, state, warmer);
}

void map_begin(struct page_map *m, unsigned number, enum space_kind kind) {
    size_t head = head_pages();
    m->number = (uint16_t)number;
    m->kind = (uint8_t)kind;
    m->open_pages = (unsigned)head;
    add_free(m, head, pages_a_window() - head, SPAN_CLOSED, 0);
}

void map_end(struct page_map *m) {
    for (size_t page = head_pages(); page < pages_a_window(); page += m->pages[page])
        (void)lists_remove(m, page);
}

void map_list_again(struct page_map *m) {
    for (size_t page = head_pages(); page < pages_a_window(); page += m->pages[page])
        lists_add(m, page, 0);
}

bool map_look(const struct page_map *m, size_t page, size_t n, struct taken *t) {
    *t = (struct taken){0};
    for (size_t end = page + n; page < end; page += m->pages[page]) {
        size_t here = size_min(m->pages[page], end - page);
        if (page >= pages_a_window() || !span_is_free(m->state[page]))
            return false;
        *(m->state[page] == SPAN_RESIDENT ? &t->resident : m->state[page] == SPAN_GONE ? &t->gone : &t->closed) += here;
    }
    return true;
}

/* The pages [page, page + n) leave the free spans, the first of which starts at `in`. */
static void cut(struct page_map *m, size_t in, size_t page, size_t n) {
    size_t end = page + n;
    for (size_t at = in; at < end;) {
        enum span_state state = m->state[at];
        size_t stop = at + m->pages[at];
        span_id warmer = lists_remove(m, at);
        if (state == SPAN_RESIDENT)
            m->resident_pages -= (unsigned)(size_min(stop, end) - size_max(at, page));
        if (at < page)
            add_free(m, at, page - at, state, warmer);
        if (stop > end)
            add_free(m, end, stop - end, state, warmer);
        at = stop;
    }
}

void map_take(struct page_map *m, size_t in, size_t page, size_t n) {
    cut(m, in, page, n);
    write_span(m, page, n, SPAN_USED);
    m->used_pages += (unsigned)n;
}

void map_extend(struct page_map *m, size_t page, size_t n) {
    size_t have = m->pages[page];
    cut(m, page + have, page + have, n);
    write_span(m, page, have + n, SPAN_USED);
    m->used_pages += (unsigned)n;
}

void map_shrink(struct page_map *m, size_t page, size_t n) {
    size_t left = m->pages[page] - n;
    write_span(m, page, left, SPAN_USED);
    m->used_pages -= (unsigned)n;
    m->resident_pages += (unsigned)n;
    join_free(m, page + left, n, SPAN_RESIDENT, 0);
}

void map_give(struct page_map *m, size_t page) {
    size_t n = m->pages[page];
    assert_structure(m->state[page] == SPAN_USED);
    m->used_pages -= (unsigned)n;
    m->resident_pages += (unsigned)n;
    join_free(m, page, n, SPAN_RESIDENT, 0);
}

void map_gone(struct page_map *m, size_t page, size_t n, bool closed) {
    size_t left = m->pages[page] - n;
    span_id warmer = lists_remove(m, page);
    add_free(m, page, left, SPAN_RESIDENT, warmer);
    m->resident_pages -= (unsigned)n;
    m->open_pages -= closed ? (unsigned)n : 0;
    write_span(m, page + left, n, SPAN_USED); /* so that neighbours see none of them before they join */
    join_free(m, page + left, n, closed ? SPAN_CLOSED : SPAN_GONE, 0);
}

void map_open(struct page_map *m, size_t in, size_t page, size_t n) {
    size_t end = in + m->pages[in];
    (void)lists_remove(m, in);
    add_free(m, in, page - in, SPAN_CLOSED, 0);
    add_free(m, page + n, end - page - n, SPAN_CLOSED, 0);
    m->open_pages += (unsigned)n;
    write_span(m, page, n, SPAN_USED);
    join_free(m, page, n, SPAN_GONE, 0);
}

/* ---- looking ---- */

const char *map_check(const struct page_map *m) {
    size_t used = 0, resident = 0, closed = 0;
    enum span_state before = SPAN_NONE;
    for (size_t page = head_pages(), n; page < pages_a_window(); page += n) {
        enum span_state state = m->state[page];
        n = m->pages[page];
        if (n == 0 || page + n > pages_a_window() || state == SPAN_NONE || state > SPAN_CLOSED)
            return "the spans of a window do not lie one behind the other";
        if (m->pages[page + n - 1] != n || m->state[page + n - 1] != state)
            return "the two ends of a span disagree";
        if (span_is_free(state) && state == before)
            return "two free spans side by side are in the same state";
        if (span_is_free(state) && !lists_have(m, page))
            return "a free span is in no list, or the wrong one";
        used += state == SPAN_USED ? n : 0;
        resident += state == SPAN_RESIDENT ? n : 0;
        closed += state == SPAN_CLOSED ? n : 0;
        before = state;
    }
    if (used != m->used_pages || resident != m->resident_pages || closed != pages_a_window() - m->open_pages)
        return "a window's pages do not add up";
    return NULL;
}
