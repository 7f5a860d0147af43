/* Windows, spans of pages and their states: random operations against a model that knows each page, with every
 * system call failing now and then. */
#include "pages/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "unit.h"

enum { SPANS = 300, STEPS = 6000 };

struct owned {
    char *start;
    size_t n;
    unsigned char mark;
};
static struct owned spans[SPANS];
static size_t count;
static uint64_t state_of_random;

/* xorshift64* */
static uint64_t next_random(void) {
    state_of_random ^= state_of_random >> 12;
    state_of_random ^= state_of_random << 25;
    state_of_random ^= state_of_random >> 27;
    return state_of_random * 0x2545f4914f6cdd1d >> 16;
}

static size_t below(size_t n) {
    return (size_t)(next_random() % n);
}

static size_t random_length(void) {
    size_t most = (size_t)1 << below(log2_floor(whole_pages_in(WINDOW / 2)) + 1);
    return 1 + below(most);
}

/* The first and the last byte of each page at an end tell whose it is. */
static void mark(const struct owned *s) {
    s->start[0] = s->start[s->n * os_facts.page - 1] = (char)s->mark;
}

static void verify(const struct owned *s) {
    assert_int_equal((unsigned char)s->start[0], s->mark);
    assert_int_equal((unsigned char)s->start[s->n * os_facts.page - 1], s->mark);
}

static void check(void) {
    const void *where;
    const char *wrong;
    size_t bytes = 0;
    (void)lock_take(&pages_lock);
    wrong = space_check_pages(&where);
    lock_release(&pages_lock);
    if (wrong != NULL)
        fail_msg("%s", wrong);
    for (size_t i = 0; i < count; i++) {
        bytes += spans[i].n * os_facts.page;
        assert_int_equal(page_map_of(spans[i].start)->pages[page_number(spans[i].start)], spans[i].n);
        assert_int_equal(page_map_of(spans[i].start)->state[page_number(spans[i].start)], SPAN_USED);
    }
    assert_int_equal(pages_totals.in_use, bytes);
    assert_int_equal(double_accessible(), pages_totals.system);
}

static void assert_apart(const struct owned *s) {
    for (size_t i = 0; i < count; i++)
        assert_true(s->start + s->n * os_facts.page <= spans[i].start ||
                    spans[i].start + spans[i].n * os_facts.page <= s->start);
}

static void take_one(void) {
    struct taken t;
    size_t align = below(4) != 0 ? 1 : (size_t)1 << below(log2_floor(whole_pages_in(WINDOW / 2)) + 1);
    struct owned s = {.n = random_length(), .mark = (unsigned char)(1 + below(255))};
    (void)lock_take(&pages_lock);
    s.start = space_claim((enum space_kind)below(SPACE_KINDS), s.n, align, &t);
    lock_release(&pages_lock);
    if (s.start == NULL) {
        assert_true(double_failures() > 0);
        return;
    }
    assert_int_equal(t.resident + t.gone + t.closed, s.n);
    assert_true(ptr_is_aligned(s.start, align * os_facts.page));
    assert_true(double_is_accessible(s.start, s.n * os_facts.page));
    if (t.resident == 0 && (t.gone == 0 || space_purge_zeroes()))
        assert_int_equal(s.start[0] | s.start[s.n * os_facts.page - 1], 0);
    assert_apart(&s);
    mark(&s);
    spans[count++] = s;
}

static void give_one(size_t i) {
    verify(&spans[i]);
    (void)lock_take(&pages_lock);
    space_free(spans[i].start);
    lock_release(&pages_lock);
    spans[i] = spans[--count];
}

static void resize_one(struct owned *s) {
    verify(s);
    struct taken t;
    size_t n = random_length();
    (void)lock_take(&pages_lock);
    if (n < s->n) {
        space_free_end(s->start, s->n - n);
        s->n = n;
    } else if (n > s->n && space_claim_more(s->start, n - s->n, &t)) {
        assert_int_equal(t.resident + t.gone + t.closed, n - s->n);
        s->n = n;
    }
    lock_release(&pages_lock);
    mark(s);
}

static void purge_one(void) {
    (void)lock_take(&pages_lock);
    span_id id = lists_coldest();
    for (size_t i = below(3); i > 0 && id != 0; i--)
        id = lists_warmer(id);
    if (id != 0) {
        size_t resident = pages_totals.resident_free;
        size_t n = 1 + below(span_map(id)->pages[span_page(id)]);
        (void)space_purge(id, n);
        assert_int_equal(pages_totals.resident_free, resident - n * os_facts.page);
    }
    lock_release(&pages_lock);
}

static void go(uint64_t seed, bool failing) {
    state_of_random = seed;
    count = 0;
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    for (int step = 0; step < STEPS; step++) {
        if (failing && below(4) == 0)
            double_fail(1 + below(3), 1 + below(6));
        size_t what = below(100);
        if (what < 40 && count < SPANS)
            take_one();
        else if (what < 75 && count > 0)
            give_one(below(count));
        else if (what < 88 && count > 0)
            resize_one(&spans[below(count)]);
        else if (what < 99)
            purge_one();
        else {
            (void)lock_take(&pages_lock);
            (void)space_drop();
            lock_release(&pages_lock);
        }
        double_heal();
        check();
    }
    while (count > 0)
        give_one(0);
    check();
    (void)lock_take(&pages_lock);
    while (lists_coldest() != 0)
        (void)space_purge(lists_coldest(), span_map(lists_coldest())->pages[span_page(lists_coldest())]);
    (void)space_drop();
    lock_release(&pages_lock);
    assert_int_equal(pages_totals.windows + pages_totals.system + pages_totals.resident_free, 0);
    assert_int_equal(double_address_space(), double_refused()); /* what lay beside a window */
}

static void set_facts(size_t page, bool strict) {
    struct os_facts facts = os_facts;
    facts.page = page;
    facts.strict_commit = strict;
    double_set_facts(&facts);
}

static void test_against_a_model(void **state) {
    (void)state;
    set_facts(4 * KIB, false);
    go((uint64_t)time(NULL), false);
}

static void test_with_failures(void **state) {
    (void)state;
    set_facts(4 * KIB, false);
    go((uint64_t)time(NULL), true);
}

static void test_with_large_pages(void **state) {
    (void)state;
    set_facts(64 * KIB, false);
    go((uint64_t)time(NULL), true);
}

static void test_with_strict_commit(void **state) {
    (void)state;
    set_facts(16 * KIB, true);
    go((uint64_t)time(NULL), true);
}

/* A length falls into the class whose shortest span it is not below, and no class has spans shorter than it says. */
static void test_classes(void **state) {
    (void)state;
    for (size_t n = 1; n <= PAGES_A_WINDOW_MAX; n++) {
        unsigned class = span_class(n);
        assert_true(class < SPAN_CLASSES && span_class_least(class) <= n);
        assert_true(class + 1 == SPAN_CLASSES || n < span_class_least(class + 1));
        unsigned fitting = span_class_fitting(n);
        assert_true(fitting == SPAN_CLASSES || span_class_least(fitting) >= n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_against_a_model),
        cmocka_unit_test(test_with_failures),
        cmocka_unit_test(test_with_large_pages),
        cmocka_unit_test(test_with_strict_commit),
    };
    return UNIT_RUN(tests);
}
