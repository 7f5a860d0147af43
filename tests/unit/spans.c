#include "spans.h"

static uint16_t *pages_of(const char *start) {
    struct run_window *w = window_of(start);
    return &w->block_pages[page_number(start)];
}

char *span_try(enum space_kind kind, size_t bytes, size_t align, enum page_state *state) {
    char *start = space_take(kind, bytes, align, state);
    if (start != NULL) {
        assert_true(in_run_window(start) && ptr_is_aligned(start, align));
        assert_int_equal(*pages_of(start), 0);
        *pages_of(start) = (uint16_t)whole_pages_in(bytes);
    }
    return start;
}

char *span_take(enum space_kind kind, size_t bytes) {
    enum page_state state;
    char *start = span_try(kind, bytes, os_facts.page, &state);
    assert_non_null(start);
    return start;
}

char *span_slot(enum space_kind kind) {
    enum page_state state;
    char *start = span_try(kind, RUN_SIZE, RUN_SIZE, &state);
    assert_non_null(start);
    return start;
}

size_t span_bytes(const char *start) {
    return *pages_of(start) * os_facts.page;
}

void span_give_gone(char *start, uint16_t gone) {
    size_t bytes = span_bytes(start);
    assert_true(bytes > 0);
    *pages_of(start) = 0;
    space_give(start, bytes, gone);
}

void span_give(char *start) {
    span_give_gone(start, 0);
}

bool span_extend(char *start, size_t more) {
    if (!space_extend(start, span_bytes(start), more))
        return false;
    *pages_of(start) = (uint16_t)(*pages_of(start) + whole_pages_in(more));
    return true;
}

bool span_page_is_resident(const char *at) {
    struct run_window *w = window_of(at);
    assert_true(bit_get(w->free, page_number(at)));
    return bit_get(w->resident, page_number(at));
}

void pages_are(size_t bytes, bool strict_commit) {
    struct os_facts facts = os_facts;
    facts.page = bytes;
    facts.strict_commit = strict_commit;
    double_set_facts(&facts);
}

int pages_of_4k(void **state) {
    (void)state;
    pages_are(4 * KIB, false);
    return 0;
}
int pages_of_16k(void **state) {
    (void)state;
    pages_are(16 * KIB, false);
    return 0;
}
int pages_of_64k(void **state) {
    (void)state;
    pages_are(64 * KIB, false);
    return 0;
}
int pages_of_4k_strict(void **state) {
    (void)state;
    pages_are(4 * KIB, true);
    return 0;
}

uint64_t the_time;

void time_passes(uint64_t us) {
    the_time += us;
    double_set_clock(the_time);
}

void stand_still(size_t keep) {
    the_time = 1000 * SECOND;
    double_set_clock(the_time);
    assume(OPT_PURGE_DELAY, 0);
    assume(OPT_RUN_HUGE_FROM, 0);
    assume(OPT_RUN_KEEP, keep);
}

void give_spans(char **spans, size_t n) {
    for (size_t i = 0; i < n; i++)
        span_give(spans[i]);
}
