/* Pages straight from the windows, for tests of what lies below runs and large blocks. */
#ifndef RUNG_TESTS_UNIT_SPANS_H
#define RUNG_TESTS_UNIT_SPANS_H

#include "runs/space.h"
#include "unit.h"

/* Registered as a large block is, so that the check finds an owner for each page; NULL: none to be had. */
char *span_try(enum space_kind kind, size_t bytes, size_t align, enum page_state *state);

/* The same, must succeed; aligned to pages. */
char *span_take(enum space_kind kind, size_t bytes);

/* An empty slot, as a run takes one. */
char *span_slot(enum space_kind kind);

void span_give(char *start);
void span_give_gone(char *start, uint16_t gone);
bool span_extend(char *start, size_t more);
size_t span_bytes(const char *start);

/* Of the page at `at`, which nobody has. */
bool span_page_is_resident(const char *at);

void give_spans(char **spans, size_t n);

/* A clock that stands until time_passes(), nothing by age, no huge pages, and `keep` bytes may stay. */
void stand_still(size_t keep);
extern uint64_t the_time;
void time_passes(uint64_t us);
#define SECOND ((uint64_t)1000000)

/* Bytes purged by f. */
#define PURGED_BY(f) (double_count_from_here(), (f), double_bytes(VERB_PURGE))

/* What the "kernel" has as its page, and whether it counts each promise of memory. */
void pages_are(size_t bytes, bool strict_commit);

/* Set-up functions, and a row of tests for each of them. */
int pages_of_4k(void **state);
int pages_of_16k(void **state);
int pages_of_64k(void **state);
int pages_of_4k_strict(void **state);

#define ON_EACH_PAGE_SIZE(f)                                                                                      \
    {#f ", 4 KiB pages", f, pages_of_4k, NULL, NULL}, {#f ", 16 KiB pages", f, pages_of_16k, NULL, NULL},         \
        {#f ", 64 KiB pages", f, pages_of_64k, NULL, NULL},                                                       \
        {#f ", strict commit", f, pages_of_4k_strict, NULL, NULL}

#endif
