/* Where runs and large blocks get their pages: windows, and what is handed out of them. */
#include "runs/space.h"

#include <stdio.h>
#include <string.h>

#include "runs/purge.h"
#include "spans.h"

#define PAGE (os_facts.page)
#define HEADS (HEAD_RUNS * RUN_SIZE)

/* ---- windows ---- */

static void test_a_window_comes_and_goes(void **state) {
    (void)state;
    assert_int_equal(space_totals.windows, 0);
    char *p = span_take(SPACE_LARGE, PAGE);
    assert_ptr_equal(p, (char *)window_of(p) + HEADS);
    assert_int_equal(space_totals.windows, 1);
    assert_int_equal(space_totals.heads, HEADS);
    assert_int_equal(space_totals.in_use, PAGE);
    assert_int_equal(double_address_space(), WINDOW);
    assert_int_equal(double_accessible(), space_totals.system);
    assert_sound();
    assert_false(space_drop_empty());
    span_give(p);
    assert_int_equal(space_totals.windows, 1); /* enough to go up and down by */
    assert_int_equal(space_totals.in_use, 0);
    assert_sound();
    assert_true(space_drop_empty());
    assert_int_equal(space_totals.windows, 0);
    assert_int_equal(space_totals.system + space_totals.heads + space_totals.resident_free, 0);
    assert_int_equal(double_address_space(), 0);
    assert_int_equal(window_use_of(p), WINDOW_FOREIGN);
    assert_false(space_drop_empty());
    assert_sound();
}

/* Of each kind, what is small and lives long does not lie between large blocks. */
static void test_one_empty_window_of_a_kind_is_kept(void **state) {
    (void)state;
    enum { N = 4 };
    char *p[SPACE_KINDS][N];
    for (int kind = 0; kind < SPACE_KINDS; kind++)
        for (size_t i = 0; i < N; i++) { /* half a window each, and the head: one fits */
            p[kind][i] = span_take((enum space_kind)kind, WINDOW / 2);
            assert_int_equal(((struct run_window *)window_of(p[kind][i]))->kind, kind);
        }
    assert_int_equal(space_totals.windows, SPACE_KINDS * N);
    for (size_t i = 0; i < N; i++)
        for (int kind = 0; kind < SPACE_KINDS; kind++) {
            span_give(p[kind][i]);
            if (kind == SPACE_KINDS - 1)
                assert_int_equal(space_totals.windows, SPACE_KINDS * (N - i));
            assert_sound();
        }
    assert_int_equal(space_totals.windows, SPACE_KINDS);
    assert_true(space_drop_empty());
    assert_int_equal(double_address_space(), 0);
}

/* A second one goes when nothing of it is resident any more. */
static void test_empty_windows_stay_while_they_are_warm(void **state) {
    (void)state;
    assume(OPT_RUN_KEEP, 1024 * MIB);
    char *a = span_take(SPACE_LARGE, 8 * MIB), *filler = span_take(SPACE_LARGE, 32 * MIB);
    char *b = span_take(SPACE_LARGE, 32 * MIB);
    assert_ptr_equal(window_of(a), window_of(filler));
    assert_ptr_not_equal(window_of(a), window_of(b));
    span_give(b);
    span_give(a);
    span_give(filler);
    assert_int_equal(space_totals.windows, 2);
    assert_int_equal(space_totals.resident_free, 72 * MIB);
    assume(OPT_RUN_KEEP, 0);
    for (int i = 0; i < 1000 && in_run_window(b); i++) { /* the highest addresses of the newest window go first */
        assert_true(space_totals.resident_free > 40 * MIB);
        span_give(span_take(SPACE_SMALL, PAGE));
        assert_int_equal(rung_heap_check(), 0);
    }
    assert_int_equal(space_totals.windows, 2); /* one of each kind */
    assert_true(in_run_window(a));
    assert_false(in_run_window(b));
    assert_sound();
}

static void test_windows_are_filled_from_the_oldest(void **state) {
    (void)state;
    char *a = span_take(SPACE_LARGE, 30 * MIB), *b = span_take(SPACE_LARGE, 32 * MIB);
    char *c = span_take(SPACE_LARGE, 32 * MIB), *d = span_take(SPACE_LARGE, 30 * MIB);
    assert_ptr_equal(window_of(a), window_of(b));
    assert_ptr_equal(window_of(c), window_of(d));
    span_give(d);
    span_give(b);
    char *e = span_take(SPACE_LARGE, 16 * MIB);
    assert_ptr_equal(e, b);
    assert_sound();
}

/* ---- opening ---- */

static void test_pages_open_in_steps(void **state) {
    (void)state;
    size_t step = os_facts.strict_commit ? RUN_SIZE : 1 * MIB;
    char *first = span_take(SPACE_LARGE, PAGE);
    size_t end = align_up((uintptr_t)first + PAGE, step);
    assert_int_equal(space_totals.system, end - (uintptr_t)window_of(first));
    double_count_from_here();
    for (char *p = first; (uintptr_t)p + PAGE < end; p += PAGE)
        assert_ptr_equal(span_take(SPACE_LARGE, PAGE), p + PAGE);
    assert_int_equal(double_calls(VERB_COMMIT), 0);
    for (size_t i = 0; i < 4 * step / PAGE; i++)
        (void)span_take(SPACE_LARGE, PAGE);
    assert_int_equal(double_calls(VERB_COMMIT), 4);
    assert_int_equal(double_bytes(VERB_COMMIT), 4 * step);
    double_count_from_here();
    char *large = span_take(SPACE_LARGE, 5 * MIB + PAGE);
    assert_int_equal(double_calls(VERB_COMMIT), 1);
    assert_true(double_is_accessible(large, 5 * MIB + PAGE));
    assert_sound();
}

/* What is open already, in the middle of what is taken, is left as it is; the double sees to that. */
static void test_opening_around_open_pages(void **state) {
    (void)state;
    enum page_state s;
    char *a = span_take(SPACE_LARGE, PAGE);
    char *far = span_try(SPACE_LARGE, PAGE, 8 * MIB, &s);
    char *farther = span_try(SPACE_LARGE, PAGE, 16 * MIB, &s);
    assert_true(a < far && far < farther);
    memset(far, 0x5a, PAGE);
    memset(farther, 0xa5, PAGE);
    span_give(far);
    char *b = span_take(SPACE_LARGE, 12 * MIB);
    assert_true(b < far && far < b + 12 * MIB && b + 12 * MIB <= farther);
    assert_true(double_is_accessible(b, 12 * MIB));
    memset(b, 1, 12 * MIB);
    assert_int_equal((unsigned char)farther[0] + (unsigned char)farther[PAGE - 1], 2 * 0xa5);
    assert_sound();
}

static void test_the_end_of_a_window_is_of_use(void **state) {
    (void)state;
    for (size_t have = HEADS; have < WINDOW;) {
        size_t n = size_min(WINDOW - have, 16 * MIB);
        char *p = span_take(SPACE_LARGE, n);
        p[n - 1] = 1;
        have += n;
    }
    assert_int_equal(space_totals.windows, 1);
    assert_int_equal(space_totals.system, WINDOW);
    (void)span_take(SPACE_LARGE, PAGE);
    assert_int_equal(space_totals.windows, 2);
    assert_sound();
}

static void test_huge_pages_are_asked_for_once_there_is_much(void **state) {
    (void)state;
    if (os_facts.strict_commit)
        return; /* steps are small there, and no huge page's worth */
    assume(OPT_RUN_HUGE_FROM, 6 * MIB);
    for (size_t i = 0; i < 16 * MIB / RUN_SIZE - HEAD_RUNS; i++)
        (void)span_slot(SPACE_SMALL);
    assert_int_equal(space_totals.system, 16 * MIB);
    assert_int_equal(double_bytes(VERB_ADVISE_HUGE), 10 * MIB);
    const struct run_window *w = space_windows[SPACE_SMALL].oldest;
    for (size_t g = 0; g < GROUPS_A_WINDOW; g++)
        assert_int_equal(w->group[g].huge, g >= 3 && g < 8);
    (void)span_take(SPACE_LARGE, 16 * MIB);
    assert_int_equal(double_bytes(VERB_ADVISE_HUGE), 10 * MIB);
    assume(OPT_RUN_HUGE_FROM, 0);
    for (size_t i = 0; i < 4 * MIB / RUN_SIZE; i++)
        (void)span_slot(SPACE_SMALL);
    assert_int_equal(double_bytes(VERB_ADVISE_HUGE), 10 * MIB);
    assert_sound();
}

/* ---- a kernel that refuses ---- */

static void test_no_window_to_be_had(void **state) {
    (void)state;
    enum page_state s;
    const enum verb verbs[] = {VERB_RESERVE, VERB_COMMIT};
    for (size_t i = 0; i < 2; i++) {
        double_fail_verb(verbs[i]);
        assert_null(span_try(SPACE_LARGE, PAGE, PAGE, &s));
        assert_true(double_failures() > 0);
        assert_int_equal(space_totals.windows + space_totals.system + space_totals.in_use, 0);
        assert_int_equal(double_address_space(), 0);
        double_heal();
    }
    (void)span_take(SPACE_LARGE, PAGE);
    assert_sound();
}

static void test_pages_that_do_not_open(void **state) {
    (void)state;
    enum page_state s;
    char *a = span_take(SPACE_LARGE, PAGE);
    size_t system = space_totals.system;
    size_t windows_space = double_address_space();
    double_fail_verb(VERB_COMMIT);
    assert_null(span_try(SPACE_LARGE, 4 * MIB, PAGE, &s));
    assert_true(double_failures() > 0);
    assert_int_equal(space_totals.windows, 1);
    assert_int_equal(space_totals.system, system);
    assert_int_equal(space_totals.in_use, PAGE);
    assert_int_equal(double_address_space(), windows_space);
    span_give(a);
    assert_ptr_equal(span_take(SPACE_LARGE, PAGE), a); /* that is open */
    double_heal();
    assert_ptr_equal(span_take(SPACE_LARGE, 4 * MIB), a + PAGE);
    assert_sound();
}

/* The window is there, but none of its pages: it does not stay. */
static void test_a_window_without_a_page(void **state) {
    (void)state;
    enum page_state s;
    (void)span_take(SPACE_LARGE, 32 * MIB);
    size_t before = double_address_space();
    for (size_t nth = 1; nth < 8; nth++) {
        double_fail(nth, SIZE_MAX);
        char *p = span_try(SPACE_LARGE, 32 * MIB, PAGE, &s);
        assert_true((p == NULL) == (double_failures() > 0 && space_totals.in_use == 32 * MIB));
        double_heal();
        assert_true(double_address_space() - double_refused() <= before + WINDOW);
        assert_int_equal(rung_heap_check(), 0);
        if (p != NULL)
            span_give(p);
    }
    (void)span_take(SPACE_LARGE, 32 * MIB);
    assert_int_equal(space_totals.windows, 2);
    assert_int_equal(rung_heap_check(), 0);
}

static void test_a_window_that_cannot_be_unmapped(void **state) {
    (void)state;
    char *a = span_take(SPACE_LARGE, 32 * MIB), *b = span_take(SPACE_LARGE, 32 * MIB);
    double_fail_verb(VERB_UNMAP);
    span_give(a);
    span_give(b);
    assert_int_equal(space_totals.windows, 2);
    assert_true(in_run_window(a) && in_run_window(b));
    assert_sound();
    assert_false(space_drop_empty());
    assert_int_equal(space_totals.windows, 2);
    (void)span_take(SPACE_LARGE, 32 * MIB);
    (void)span_take(SPACE_LARGE, 32 * MIB);
    assert_int_equal(space_totals.windows, 2);
    assert_sound();
}

static void test_the_lock_is_not_to_be_had(void **state) {
    (void)state;
    enum page_state s;
    char *a = span_take(SPACE_LARGE, 3 * PAGE), *b = span_take(SPACE_LARGE, 2 * PAGE);
    char *c = span_take(SPACE_LARGE, PAGE);
    assert_true(lock_take(&space_lock)); /* as a signal handler finds it that interrupted its own thread */
    assert_null(span_try(SPACE_LARGE, PAGE, PAGE, &s));
    assert_false(span_extend(c, PAGE));
    span_give(a);
    span_give(b);
    lock_release(&space_lock);
    assert_int_equal(space_totals.in_use, 6 * PAGE);
    span_give(c); /* and what was left with it */
    assert_int_equal(space_totals.in_use, 0);
    assert_sound();
}

/* ---- what is taken ---- */

static void test_the_lowest_place(void **state) {
    (void)state;
    char *p[6];
    for (size_t i = 0; i < 6; i++)
        p[i] = span_take(SPACE_LARGE, (i + 1) * PAGE);
    span_give(p[4]);
    span_give(p[1]);
    assert_ptr_equal(span_take(SPACE_LARGE, PAGE), p[1]);
    assert_ptr_equal(span_take(SPACE_LARGE, 2 * PAGE), p[4]);
    assert_ptr_equal(span_take(SPACE_LARGE, PAGE), p[1] + PAGE);
    span_give(p[2]);
    span_give(p[3]); /* together with what is left of p[4] */
    assert_ptr_equal(span_take(SPACE_LARGE, 7 * PAGE), p[2]);
    assert_sound();
}

static void test_alignment(void **state) {
    (void)state;
    enum page_state s;
    (void)span_take(SPACE_LARGE, PAGE);
    for (int round = 0; round < 2; round++)
        for (size_t align = PAGE; align <= WINDOW / 2; align *= 2) {
            char *p = span_try(SPACE_LARGE, 3 * PAGE, align, &s);
            assert_non_null(p);
            assert_true(ptr_is_aligned(p, align));
        }
    /* Half a window's alignment has one place in each, which 16 MiB's took in the first. */
    assert_int_equal(space_totals.windows, 3);
    char *half = span_try(SPACE_LARGE, WINDOW / 2, WINDOW / 2, &s);
    assert_true(ptr_is_aligned(half, WINDOW / 2));
    assert_sound();
}

/* Pages that were gone when they came are not resident, and come back. */
static void test_gone_pages(void **state) {
    (void)state;
    enum page_state s;
    size_t pages = RUN_SIZE / PAGE;
    size_t half = (pages + 1) / 2;
    assume(OPT_RUN_KEEP, 64 * MIB);
    char *slot = span_slot(SPACE_SMALL);
    span_give_gone(slot, (uint16_t)((1u << half) - 1)); /* the lower half */
    assert_int_equal(space_totals.resident_free, (pages - half) * PAGE);
    for (size_t i = 0; i < pages; i++)
        assert_int_equal(span_page_is_resident(slot + i * PAGE), i >= half);
    assert_sound();
    if (pages > half) { /* what is there is taken first, though it lies higher */
        assert_ptr_equal(span_try(SPACE_SMALL, PAGE, PAGE, &s), slot + half * PAGE);
        assert_int_equal(s, PAGES_RESIDENT);
        span_give(slot + half * PAGE);
        assert_ptr_equal(span_try(SPACE_SMALL, RUN_SIZE, RUN_SIZE, &s), slot);
        assert_int_equal(s, PAGES_RESIDENT); /* a part is enough */
        span_give_gone(slot, (uint16_t)((1u << half) - 1));
        (void)span_take(SPACE_SMALL, (pages - half) * PAGE);
    }
    assert_ptr_equal(span_try(SPACE_SMALL, half * PAGE, PAGE, &s), slot);
    assert_int_equal(s, PAGES_GONE); /* nobody has looked yet whether the kernel zeroes them */
    assert_int_equal(space_totals.resident_free, 0);
    assert_sound();
}

static void test_what_was_never_touched_is_zero(void **state) {
    (void)state;
    enum page_state s;
    size_t step = os_facts.strict_commit ? RUN_SIZE : 1 * MIB;
    (void)span_try(SPACE_LARGE, PAGE, PAGE, &s);
    assert_int_equal(s, PAGES_ZERO);
    char *p = span_try(SPACE_LARGE, 4 * step, PAGE, &s);
    for (size_t i = 0; i < 4 * step; i += 512)
        assert_int_equal(p[i], 0);
    p = span_try(SPACE_LARGE, step, step, &s); /* nothing of it was opened with others */
    assert_int_equal(s, PAGES_ZERO);
    memset(p, 1, step);
    assume(OPT_RUN_KEEP, 64 * MIB);
    span_give(p);
    assert_ptr_equal(span_try(SPACE_LARGE, step, PAGE, &s), p);
    assert_int_equal(s, PAGES_RESIDENT);
}

/* ---- in place ---- */

static void test_extend(void **state) {
    (void)state;
    assume(OPT_RUN_KEEP, 64 * MIB);
    char *a = span_take(SPACE_LARGE, PAGE), *b = span_take(SPACE_LARGE, 4 * PAGE);
    char *c = span_take(SPACE_LARGE, PAGE);
    memset(a, 0x11, PAGE);
    assert_false(span_extend(a, PAGE));
    span_give(b);
    assert_false(span_extend(a, 5 * PAGE));
    assert_true(span_extend(a, 3 * PAGE)); /* the resident ones */
    assert_int_equal(space_totals.resident_free, PAGE);
    assert_int_equal(space_totals.in_use, 5 * PAGE);
    assert_true(span_extend(a, PAGE));
    assert_false(span_extend(a, PAGE));
    assert_int_equal(a[0] + a[PAGE - 1], 0x22);
    /* Beyond what is open, and as far as the window goes. */
    size_t room = WINDOW - page_number(c) * PAGE - PAGE;
    assert_false(span_extend(c, room + PAGE));
    assert_true(span_extend(c, 8 * MIB));
    assert_true(double_is_accessible(c, 8 * MIB + PAGE));
    assert_true(span_extend(c, room - 8 * MIB));
    c[room + PAGE - 1] = 1;
    assert_false(span_extend(c, PAGE));
    assert_int_equal(space_totals.windows, 1);
    assert_sound();
}

static void test_extend_refused(void **state) {
    (void)state;
    char *a = span_take(SPACE_LARGE, PAGE);
    size_t system = space_totals.system;
    double_fail_verb(VERB_COMMIT);
    assert_false(span_extend(a, 4 * MIB));
    assert_true(double_failures() > 0);
    assert_int_equal(space_totals.system, system);
    assert_int_equal(space_totals.in_use, PAGE);
    assert_sound();
    double_heal();
    assert_true(span_extend(a, 4 * MIB));
    assert_sound();
}

/* ---- anything ---- */

enum { SPANS = 200 };

struct span {
    char *start;
    size_t bytes;
    unsigned char stamp;
    enum space_kind kind;
};

static uint64_t seed;

static size_t below(size_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

/* The first and the last bytes of each page. */
static void stamp(const struct span *s) {
    for (size_t at = 0; at < s->bytes; at += PAGE) {
        memset(s->start + at, s->stamp, 16);
        memset(s->start + at + PAGE - 16, s->stamp, 16);
    }
}

static void assert_stamped(const struct span *s, size_t bytes) {
    for (size_t at = 0; at < bytes; at += PAGE)
        for (size_t i = 0; i < 16; i++)
            if ((unsigned char)s->start[at + i] != s->stamp ||
                (unsigned char)s->start[at + PAGE - 16 + i] != s->stamp)
                fail_msg("byte %zu of a span of %zu is not its owner's", at + i, s->bytes);
}

static void assert_zero(const struct span *s) {
    for (size_t at = 0; at < s->bytes; at += PAGE)
        for (size_t i = 0; i < 16; i++)
            if (s->start[at + i] != 0 || s->start[at + PAGE - 16 + i] != 0)
                fail_msg("page %zu of a span of %zu is said to be zero and is not", at / PAGE, s->bytes);
}

static size_t some_bytes(void) {
    switch (below(8)) {
    case 0:
        return PAGE * (1 + below(8 * MIB / PAGE));
    case 1:
        return PAGE * (1 + below(256 * KIB / PAGE));
    default:
        return PAGE * (1 + below(8));
    }
}

static void take_one(struct span *s) {
    enum page_state state;
    size_t align = below(8) == 0 ? PAGE << below(8) : PAGE;
    s->bytes = some_bytes();
    if (below(3) == 0)
        s->bytes = align = RUN_SIZE;
    s->kind = (enum space_kind)below(SPACE_KINDS);
    s->stamp = (unsigned char)(1 + below(255));
    s->start = span_try(s->kind, s->bytes, align, &state);
    if (s->start == NULL)
        return;
    if (state == PAGES_ZERO)
        assert_zero(s);
    stamp(s);
}

static void give_one(struct span *s) {
    assert_stamped(s, s->bytes);
    unsigned pages = (unsigned)(RUN_SIZE / PAGE);
    if (s->bytes == RUN_SIZE && below(4) == 0) { /* as a run whose idle pages went */
        uint16_t gone = (uint16_t)below((size_t)1 << pages);
        for (unsigned i = 0; i < pages; i++)
            if ((gone >> i & 1) != 0)
                assert_true(os_purge(s->start + i * PAGE, PAGE));
        span_give_gone(s->start, gone);
    } else {
        span_give(s->start);
    }
    s->start = NULL;
}

static void extend_one(struct span *s) {
    size_t more = some_bytes();
    if (s->bytes + more > WINDOW / 2 || !span_extend(s->start, more))
        return;
    assert_stamped(s, s->bytes);
    s->bytes += more;
    stamp(s);
}

static void shorten_one(struct span *s) {
    if (s->bytes == PAGE)
        return;
    size_t kept = PAGE * (1 + below(s->bytes / PAGE - 1));
    struct run_window *w = window_of(s->start);
    w->block_pages[page_number(s->start)] = (uint16_t)whole_pages_in(kept);
    space_give(s->start + kept, s->bytes - kept, 0);
    s->bytes = kept;
}

static void test_random(void **state) {
    (void)state;
    static struct span spans[SPANS];
    enum { SEEDS = 3, STEPS = 3000 };
    uint64_t now = 1000000000;
    assume(OPT_PURGE_DELAY, 1000);
    assume(OPT_RUN_HUGE_FROM, 16 * MIB);
    for (uint64_t first = 1; first <= SEEDS; first++) {
        seed = first;
        printf("seed %llu\n", (unsigned long long)seed);
        fflush(stdout);
        for (unsigned i = 0; i < STEPS; i++) {
            struct span *s = &spans[below(i / 500 % 2 == 0 ? SPANS : SPANS / 4)];
            double_set_clock(now += below(8) == 0 ? below(400000) : below(1000));
            if (s->start == NULL)
                take_one(s);
            else if (below(4) == 0)
                extend_one(s);
            else if (below(4) == 0)
                shorten_one(s);
            else
                give_one(s);
            if (below(64) == 0)
                (void)purge_free_pages(below(4 * MIB));
            if (i % 50 == 0)
                assert_sound();
        }
        for (size_t i = 0; i < SPANS; i++)
            if (spans[i].start != NULL)
                give_one(&spans[i]);
        assert_int_equal(space_totals.in_use, 0);
        assert_sound();
    }
    (void)space_drop_empty();
    assert_int_equal(double_address_space(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_EACH_PAGE_SIZE(test_a_window_comes_and_goes),
        ON_EACH_PAGE_SIZE(test_one_empty_window_of_a_kind_is_kept),
        ON_EACH_PAGE_SIZE(test_empty_windows_stay_while_they_are_warm),
        ON_EACH_PAGE_SIZE(test_windows_are_filled_from_the_oldest),
        ON_EACH_PAGE_SIZE(test_pages_open_in_steps),
        ON_EACH_PAGE_SIZE(test_opening_around_open_pages),
        ON_EACH_PAGE_SIZE(test_the_end_of_a_window_is_of_use),
        ON_EACH_PAGE_SIZE(test_huge_pages_are_asked_for_once_there_is_much),
        ON_EACH_PAGE_SIZE(test_no_window_to_be_had),
        ON_EACH_PAGE_SIZE(test_pages_that_do_not_open),
        ON_EACH_PAGE_SIZE(test_a_window_without_a_page),
        ON_EACH_PAGE_SIZE(test_a_window_that_cannot_be_unmapped),
        ON_EACH_PAGE_SIZE(test_the_lock_is_not_to_be_had),
        ON_EACH_PAGE_SIZE(test_the_lowest_place),
        ON_EACH_PAGE_SIZE(test_alignment),
        ON_EACH_PAGE_SIZE(test_gone_pages),
        ON_EACH_PAGE_SIZE(test_what_was_never_touched_is_zero),
        ON_EACH_PAGE_SIZE(test_extend),
        ON_EACH_PAGE_SIZE(test_extend_refused),
        ON_EACH_PAGE_SIZE(test_random),
    };
    return UNIT_RUN(tests);
}
