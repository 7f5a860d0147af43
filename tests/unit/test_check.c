/* The check of runs, windows and the thread's cache finds what is wrong with them. */
#include <string.h>

#include "cache/check.h"
#include "cache/cpu_cache.h"
#include "runs/run.h"
#include "runs/space.h"
#include "unit.h"

static char *small;    /* the first object of a run with free objects and idle pages */
static char *large;    /* a block, with free pages behind */
static char *cached;   /* a block in the cache */

static int with_contents(void **state) {
    (void)state;
    enum { N = 300 };
    static void *p[N];
    assume(OPT_RUNS, 1);
    assume(OPT_RUN_BLOCK_MAX, 32 * MIB);
    assume(OPT_RUN_KEEP, 64 * MIB);
    take(p, N, 1000);
    small = ptr_align_down(p[N - 1], RUN_SIZE);
    for (size_t i = 0; i < N; i++)
        if (p[i] != small && (i < 30 || i > 60))
            rung_free(p[i]);
    large = rung_malloc(MIB);
    cached = rung_malloc(100000);
    rung_free(cached);
    rung_free(rung_malloc(2 * MIB));
    caches_empty_here();
    cached = rung_malloc(100000);
    rung_free(cached);
    assert_sound();
    return 0;
}

/* NULL: all is sound. */
static const char *what_is_wrong(void) {
    const void *where;
    const char *wrong = runs_check(&where);
    return wrong != NULL ? wrong : caches_check(&where);
}

/* With `bytes` at `at` replaced, the check says `expected`. */
static void assert_found(void *at, const void *with, size_t bytes, const char *expected) {
    char before[64];
    assert_true(bytes <= sizeof before);
    memcpy(before, at, bytes);
    memcpy(at, with, bytes);
    const char *wrong = what_is_wrong();
    memcpy(at, before, bytes);
    assert_non_null(wrong);
    assert_string_equal(wrong, expected);
    assert_null(what_is_wrong());
}

#define ASSERT_FOUND(lvalue, value, expected)                                                                     \
    do {                                                                                                          \
        __typeof__(lvalue) with_ = (__typeof__(lvalue))(value);                                                   \
        assert_found(&(lvalue), &with_, sizeof with_, expected);                                                  \
    } while (0)

/* What is not looked for where there are other threads: a sanitizer's is enough. */
#define ASSERT_FOUND_ALONE(lvalue, value, expected)                                                               \
    do {                                                                                                          \
        if (single_threaded())                                                                                    \
            ASSERT_FOUND(lvalue, value, expected);                                                                \
    } while (0)

static void test_runs_themselves(void **state) {
    (void)state;
    struct run *r = run_of(small);
    assert_true(r->free_objects > 1 && r->idle != 0);
    ASSERT_FOUND(r->free_objects, r->free_objects - 1, "a run has another number of free objects than it counts");
    ASSERT_FOUND(*object_word(r, 0), *object_word(r, 0) ^ 1, "a run has another number of free objects than it counts");
    ASSERT_FOUND(r->fullness, (r->fullness + 1) % 4, "a run is in the wrong list");
    ASSERT_FOUND(r->first_word, 1, "a run has free objects where none are looked for");
    ASSERT_FOUND(r->gone, r->idle, "a page is idle and gone");
    /* Its group and the sum of all have one page less as well. */
    uint16_t page = r->idle & (uint16_t)-r->idle;
    r->idle ^= page;
    r->gone ^= page;
    assert_string_equal(what_is_wrong(), "the idle pages of all runs do not add up");
    r->idle ^= page;
    r->gone ^= page;
    r->idle ^= page;
    group_of(small)->idle--;
    runs_idle -= os_facts.page;
    assert_string_equal(what_is_wrong(), "a run's idle pages are not those without an object");
    runs_idle += os_facts.page;
    group_of(small)->idle++;
    r->idle ^= page;
    assert_null(what_is_wrong());
}

static void test_lists_of_runs(void **state) {
    (void)state;
    struct run *r = run_of(small);
    list_remove(&r->idle_link);
    assert_string_equal(what_is_wrong(), "the runs with idle pages are not those listed");
    r->idle_link.prev->next = r->idle_link.next->prev = &r->idle_link;
    list_remove(&r->link);
    assert_string_equal(what_is_wrong(), "the runs with free objects are not those listed");
    r->link.prev->next = r->link.next->prev = &r->link;
    assert_null(what_is_wrong());
    unsigned bin = run_bin_of(small);
    assert_true(bin != SLOT_PAGES);
    struct run_window *w = window_of(small);
    ASSERT_FOUND_ALONE(w->slot[r - w->run], SLOT_PAGES, "a page belongs to nobody and is not free");
}

static void test_windows(void **state) {
    (void)state;
    struct run_window *w = window_of(large);
    size_t page = page_number(large);
    size_t free = bits_next_set(w->free, page, pages_a_window());
    size_t closed = bits_next_set(w->closed, page, pages_a_window());
    size_t resident = bits_next_set(w->resident, page, pages_a_window());
    assert_true(free < closed && closed < pages_a_window() && resident < pages_a_window());
#define FLIP(map, bit, expected)                                                                                  \
    ASSERT_FOUND(w->map[(bit) / WORD_BITS], w->map[(bit) / WORD_BITS] ^ (uint64_t)1 << (bit) % WORD_BITS, expected)
    FLIP(resident, page, "pages that are not free count as resident, recent or closed");
    FLIP(recent, page, "pages that are not free count as resident, recent or closed");
    FLIP(closed, page, "pages that are not free count as resident, recent or closed");
    FLIP(resident, closed, "a page that is not accessible counts as resident");
    FLIP(free, 0, "a page of a window's head is free");
    FLIP(free, page, "a window's pages do not add up");
    FLIP(closed, closed, "the windows' pages do not add up");
    ASSERT_FOUND(w->free_pages, w->free_pages + 1, "a window's pages do not add up");
    ASSERT_FOUND(w->resident_pages, w->resident_pages - 1, "a window's pages do not add up");
    ASSERT_FOUND(w->group[7].free_pages, 3, "a group's pages do not add up");
    ASSERT_FOUND(*(uint16_t *)&w->group[7].idle, 3, "the idle pages of a group's runs do not add up");
    ASSERT_FOUND(w->free_places.from[0], pages_a_window(), "there are free pages where none are looked for");
    ASSERT_FOUND(w->resident_places.from[0], pages_a_window(), "there are free pages where none are looked for");
    ASSERT_FOUND(w->free_places.from[PLACE_SLOT], pages_a_window(), "there are free pages where none are looked for");
    ASSERT_FOUND_ALONE(w->block_pages[page], 0, "a page belongs to nobody and is not free");
    ASSERT_FOUND(w->block_pages[page], w->block_pages[page] + 1 + closed, "a page of a run or a block is free");
    ASSERT_FOUND(w->block_pages[free], 1, "a page of a run or a block is free");
    ASSERT_FOUND(w->kind, SPACE_SMALL, "a window is in the wrong list");
    ASSERT_FOUND(w->older, w, "a window's neighbours do not know it");
}

static void test_totals(void **state) {
    (void)state;
    static const char sums[] = "the windows' pages do not add up";
    ASSERT_FOUND(space_totals.in_use, 0, sums);
    ASSERT_FOUND(space_totals.resident_free, space_totals.resident_free + 1, sums);
    ASSERT_FOUND(space_totals.system, space_totals.system + 4096, sums);
    ASSERT_FOUND(space_totals.heads, 0, sums);
    ASSERT_FOUND(space_totals.windows, 0, sums);
    ASSERT_FOUND(*(size_t *)&runs_idle, runs_idle + 4096, "the idle pages of all runs do not add up");
}

static void test_the_cache(void **state) {
    (void)state;
    if (!single_threaded()) {
        print_message("caches are looked at in processes with one thread; this one has a sanitizer's\n");
        skip();
    }
    rung_free(rung_malloc(64));
    struct cpu_cache *d = cache_numbered(cache_number());
    unsigned bin = run_bin_of_request(64), blocks = CACHE_BLOCKS + block_bin_of_request(100000);
    unsigned unused = run_bin_of_request(30000);
    void **top = d->top[bin];
    assert_true(top > d->bin[bin].slots && d->bin[unused].slots == NULL);
    ASSERT_FOUND(*top, &bin, "a cache holds what is no object");
    ASSERT_FOUND(*top, small, "a cache holds what is no object of the size");
    ASSERT_FOUND(*top, (char *)*top + 16, "a cache holds what is no object of the size");
    struct run *r = run_of(*top);
    size_t i = run_object_index(bin, (uintptr_t)*top % RUN_SIZE);
    *object_word(r, i / WORD_BITS) |= (uint64_t)1 << i % WORD_BITS;
    const void *where;
    assert_string_equal(caches_check(&where), "an object lies in a cache, and free in its run");
    assert_ptr_equal(where, *top);
    *object_word(r, i / WORD_BITS) ^= (uint64_t)1 << i % WORD_BITS;
    ASSERT_FOUND(d->bin[unused].cap, 1, "a bin without room is not empty and full");
    ASSERT_FOUND(d->bin[bin].cap, d->bin[bin].cap + 1, "a bin is not where its room is");
    ASSERT_FOUND(d->bin[bin].slots[0], top, "a bin is not where its room is");
    ASSERT_FOUND(d->top[bin], d->bin[bin].slots - 1, "a bin is not where its room is");
    ASSERT_FOUND(d->spent[0], d->spent[0] + 1, "what a cache may hold does not add up");
    ASSERT_FOUND(d->spent[1], 0, "what a cache may hold does not add up");
    assert_ptr_equal(*d->top[blocks], cached);
    ASSERT_FOUND(*d->top[blocks], large, "a cache holds what is no marked block of the size");
    ASSERT_FOUND_ALONE(d->top[blocks], d->top[blocks] - 1, "blocks are marked that lie in no cache");
    struct run_window *w = window_of(cached);
    ASSERT_FOUND(w->block_pages[page_number(cached)], w->block_pages[page_number(cached)] & 0x7fff,
                 "a cache holds what is no marked block of the size");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_runs_themselves, with_contents),
        cmocka_unit_test_setup(test_lists_of_runs, with_contents),
        cmocka_unit_test_setup(test_windows, with_contents),
        cmocka_unit_test_setup(test_totals, with_contents),
        cmocka_unit_test_setup(test_the_cache, with_contents),
    };
    return UNIT_RUN(tests);
}
