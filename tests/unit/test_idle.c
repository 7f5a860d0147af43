/* Pages of runs without an object: known exactly, given back, taken again. */
#include "runs/idle.h"

#include <stdio.h>
#include <string.h>

#include "base/counter.h"
#include "chunk/footprint.h"
#include "runs/run.h"
#include "spans.h"

#define PAGE (os_facts.page)
#define SECOND ((uint64_t)1000000)

enum {
    RUNS = 3, /* so many runs' objects are out at most */
    OBJECTS_MAX = RUNS * OBJECTS_A_RUN_MAX,
};

static void *out[OBJECTS_MAX];
static size_t out_count;

static uint64_t seed, now;

static size_t below(size_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

static void set_clock(uint64_t us) {
    now = us;
    double_set_clock(us);
}

static void begin(size_t keep) {
    set_clock(1000 * SECOND);
    out_count = 0;
    assume(OPT_PURGE_DELAY, 0);
    assume(OPT_RUN_HUGE_FROM, 0);
    assume(OPT_RUN_KEEP, keep);
}

/* ---- what must be so ---- */

/* A bit for each page of `start`'s run that an object touches which is out. */
static unsigned touched(const char *start) {
    size_t size = run_object_size(start);
    unsigned pages = 0;
    for (size_t i = 0; i < out_count; i++) {
        const char *object = out[i];
        if (object < start || object >= start + RUN_SIZE)
            continue;
        size_t offset = (size_t)(object - start);
        for (size_t at = offset; at < offset + size; at++)
            if (at == offset || at % PAGE == 0)
                pages |= 1u << at / PAGE;
    }
    return pages;
}

/* Every run says what a walk over all objects says, and the sums are right. */
static void assert_exact(void) {
    size_t idle = 0, gone = 0, used = 0;
    unsigned all = (1u << RUN_SIZE / PAGE) - 1;
    for (int kind = 0; kind < SPACE_KINDS; kind++)
        for (struct run_window *w = space_windows[kind].oldest; w != NULL; w = w->newer)
            for (size_t i = HEAD_RUNS; i < RUNS_A_WINDOW; i++) {
                if (w->slot[i] == SLOT_PAGES)
                    continue;
                struct run *r = &w->run[i];
                unsigned pages = touched(run_start(r));
                if ((unsigned)(r->idle | r->gone) != (all & ~pages) || (r->idle & r->gone) != 0)
                    fail_msg("objects of %zu bytes: pages %#x are touched, but %#x idle and %#x gone",
                             run_bin_size(r->bin), pages, (unsigned)r->idle, (unsigned)r->gone);
                idle += (size_t)__builtin_popcount(r->idle) * PAGE;
                gone += (size_t)__builtin_popcount(r->gone) * PAGE;
                used += RUN_SIZE;
            }
    struct runs_totals t;
    runs_count(&t);
    assert_int_equal(t.idle, idle);
    assert_int_equal(t.used, used);
    assert_int_equal(footprint(), counter_get(COUNT_META_MAPPED) + space_totals.in_use + space_totals.resident_free +
                                      space_totals.heads - gone);
}

/* ---- taking and giving ---- */

static void take_objects(unsigned bin, size_t n) {
    while (n > 0) {
        size_t took = runs_take(bin, out + out_count, size_min(n, 64));
        assert_true(took > 0);
        for (size_t i = 0; i < took; i++)
            memset(out[out_count + i], 0x3c, run_bin_size(bin));
        out_count += took;
        n -= size_min(n, took);
    }
}

/* The n objects at out[i]. */
static void give_objects(unsigned bin, size_t i, size_t n) {
    void *objects[64];
    memcpy(objects, out + i, n * sizeof *out);
    memmove(out + i, out + i + n, (out_count - i - n) * sizeof *out);
    out_count -= n;
    assert_true(runs_give(bin, objects, n));
}

static void give_all(unsigned bin) {
    while (out_count > 0)
        give_objects(bin, 0, size_min(out_count, 64));
}

static void shuffle(void) {
    for (size_t i = out_count; i > 1; i--) {
        size_t k = below(i);
        void *o = out[i - 1];
        out[i - 1] = out[k];
        out[k] = o;
    }
}

/* ---- the tests ---- */

/* One object after the other, in any order: a page is idle from when the last object on it comes. */
static void test_exactly_when_the_last_one_comes(void **state) {
    (void)state;
    begin(1024 * MIB);
    seed = 7;
    printf("seed 7\n");
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        size_t objects = RUN_SIZE / run_bin_size(bin);
        size_t step = objects / 70 + 1; /* looking is slow */
        take_objects(bin, objects);
        assert_exact();
        shuffle();
        while (out_count > 0) {
            give_objects(bin, 0, size_min(out_count, below(2) == 0 ? 1 : step));
            assert_exact();
        }
        assert_sound();
    }
}

/* Taken from the lowest on: what no object was on so far stays idle. */
static void test_until_the_first_one_goes(void **state) {
    (void)state;
    begin(1024 * MIB);
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        size_t objects = RUN_SIZE / run_bin_size(bin);
        size_t step = objects / 40 + 1;
        while (out_count < objects) {
            take_objects(bin, size_min(objects - out_count, step));
            assert_exact();
        }
        give_all(bin);
    }
    assert_sound();
}

static void test_random(void **state) {
    (void)state;
    begin(1024 * MIB);
    enum { STEPS = 60 };
    for (unsigned bin = 0; bin < RUN_BINS; bin += bin < 8 ? 1 : 3) {
        seed = bin;
        printf("seed %u\n", bin);
        fflush(stdout);
        size_t most = RUNS * (RUN_SIZE / run_bin_size(bin));
        for (int i = 0; i < STEPS; i++) {
            set_clock(now + below(SECOND));
            assume(OPT_RUN_KEEP, below(3) * 64 * KIB); /* some idle pages go, some may stay */
            if (below(2) == 0 && out_count < most)
                take_objects(bin, 1 + below(most - out_count));
            shuffle();
            for (size_t n = below(out_count + 1); n > 0;) {
                size_t step = size_min(1 + below(64), n);
                give_objects(bin, 0, step);
                n -= step;
            }
            if (below(8) == 0)
                (void)runs_purge_idle();
            assert_exact();
        }
        give_all(bin);
        assert_exact();
        assert_sound();
    }
}

/* One object on each page but the first stays away: all others are given back, and come back as zeros. */
static void test_gone_pages_come_back(void **state) {
    (void)state;
    begin(1024 * MIB);
    for (unsigned bin = 0; bin < RUN_BINS; bin += 5) {
        size_t objects = RUN_SIZE / run_bin_size(bin);
        take_objects(bin, objects);
        char *start = ptr_align_down(out[0], RUN_SIZE);
        for (size_t i = 0; i < out_count;) /* all but the first */
            if (out[i] != start)
                give_objects(bin, i, 1);
            else
                i++;
        unsigned idle = run_of(start)->idle;
        size_t before = double_bytes(VERB_PURGE);
        assert_int_equal(runs_purge_idle(), idle != 0);
        assert_int_equal(run_of(start)->idle, 0);
        assert_int_equal(run_of(start)->gone, idle);
        assert_int_equal(double_bytes(VERB_PURGE) - before, (size_t)__builtin_popcount(idle) * PAGE);
        assert_exact();
        assert_false(runs_purge_idle());
        for (size_t page = 0; page < RUN_SIZE / PAGE; page++)
            for (size_t at = 0; at < PAGE && (idle >> page & 1) != 0; at++)
                if (start[page * PAGE + at] != 0)
                    fail_msg("byte %zu of page %zu is still there", at, page);
        assert_int_equal(start[0] + start[run_bin_size(bin) - 1], 2 * 0x3c);
        take_objects(bin, objects - 1);
        assert_int_equal(run_of(start)->gone, idle & ~touched(start)); /* those behind the last object */
        assert_exact();
        give_all(bin);
        (void)runs_purge_idle();
    }
    assert_sound();
}

/* What was given back in a run is still gone when the run becomes free pages, and is not purged again; but where
   memory is promised the purge returns the promise as well. */
static void test_gone_stays_gone_when_the_run_goes(void **state) {
    (void)state;
    begin(1024 * MIB);
    unsigned bin = run_bin_of_request(64);
    take_objects(bin, RUN_SIZE / 64);
    char *start = ptr_align_down(out[0], RUN_SIZE);
    while (out_count > 1)
        give_objects(bin, 0, 1);
    (void)runs_purge_idle();
    size_t gone = (size_t)__builtin_popcount(run_of(start)->gone) * PAGE;
    assert_int_equal(gone, RUN_SIZE - PAGE);
    give_all(bin);
    assert_int_equal(run_bin_of(start), SLOT_PAGES);
    bool again = os_facts.strict_commit;
    assert_int_equal(space_totals.resident_free, again ? RUN_SIZE : PAGE);
    assert_int_equal(runs_idle, 0);
    assert_sound();
    (void)rung_malloc_trim(0);
    assert_int_equal(double_bytes(VERB_PURGE), again ? RUN_SIZE + gone : RUN_SIZE);
    assert_exact();
}

/* A sparse run's pages go when more is idle than may be. */
static void test_beyond_what_may_stay(void **state) {
    (void)state;
    enum { N = 64 };
    unsigned bin = run_bin_of_request(1024);
    begin(1 * MIB);
    take_objects(bin, N * 64);
    for (size_t i = 0; i < out_count;) { /* the first object of each run stays */
        if ((uintptr_t)out[i] % RUN_SIZE == 0)
            i++;
        else
            give_objects(bin, i, 1);
    }
    assert_int_equal(out_count, N);
    size_t idle_or_gone = N * (RUN_SIZE - PAGE);
    assert_int_equal(runs_idle + double_bytes(VERB_PURGE), idle_or_gone);
    assert_true(runs_idle <= 1 * MIB + 8 * RUN_SIZE);
    assert_true(PAGE == RUN_SIZE || double_bytes(VERB_PURGE) > 0);
    assert_exact();
    assert_sound();
}

/* Purging them is refused: they count as gone all the same, and are not tried again and again. */
static void test_refused(void **state) {
    (void)state;
    unsigned bin = run_bin_of_request(1024);
    begin(1024 * MIB);
    take_objects(bin, 64);
    while (out_count > 1)
        give_objects(bin, 0, 1);
    double_fail_verb(VERB_PURGE);
    (void)runs_purge_idle();
    assert_true(PAGE == RUN_SIZE || double_failures() > 0);
    size_t failures = double_failures();
    (void)runs_purge_idle();
    assert_int_equal(double_failures(), failures);
    assert_exact();
    take_objects(bin, 63);
    assert_exact();
    assert_sound();
}

/* Where huge pages were asked for, idle pages stay while they and the free ones are less than a half. */
static void test_huge_pages_hold_idle_ones(void **state) {
    (void)state;
    unsigned bin = run_bin_of_request(1024);
    enum { RUNS_A_GROUP = GROUP / RUN_SIZE };
    begin(1024 * MIB);
    assume(OPT_RUN_HUGE_FROM, 1);
    take_objects(bin, (2 * RUNS_A_GROUP - HEAD_RUNS) * 64);
    struct run_window *w = window_of(out[0]);
    assert_true(w->group[1].huge);
    assert_false(w->group[0].huge);
    size_t runs_emptied = 0;
    for (size_t i = HEAD_RUNS; i < 2 * RUNS_A_GROUP; i++) {
        if (i < RUNS_A_GROUP || runs_emptied == RUNS_A_GROUP / 2)
            continue;
        for (size_t k = 0; k < out_count;) /* its first object stays */
            if (ptr_align_down(out[k], RUN_SIZE) == (char *)w + i * RUN_SIZE && (uintptr_t)out[k] % RUN_SIZE != 0)
                give_objects(bin, k, 1);
            else
                k++;
        runs_emptied++;
    }
    assert_int_equal(w->group[1].idle, RUNS_A_GROUP / 2 * (RUN_SIZE / PAGE - 1));
    assert_false(runs_purge_idle());
    assert_true(w->group[1].huge);
    assert_exact();
    for (size_t i = RUNS_A_GROUP + runs_emptied; i < 2 * RUNS_A_GROUP; i++)
        for (size_t k = 0; k < out_count;)
            if (ptr_align_down(out[k], RUN_SIZE) == (char *)w + i * RUN_SIZE && (uintptr_t)out[k] % RUN_SIZE != 0)
                give_objects(bin, k, 1);
            else
                k++;
    assert_true(runs_purge_idle());
    assert_false(w->group[1].huge);
    assert_int_equal(runs_idle, 0);
    assert_exact();
    assert_sound();
}

/* Sizes that nobody takes or gives are looked after by whoever comes by, once their pages have aged. */
static void test_quiet_sizes_age(void **state) {
    (void)state;
    unsigned bin = run_bin_of_request(1024), other = run_bin_of_request(16);
    begin(0);
    take_objects(bin, 20 * 64); /* in use: of which the share could stay */
    void *some;
    for (int i = 0; i < 60; i++)
        give_objects(bin, out_count - 1 - (size_t)i % 2 * 30, 1);
    assert_true(runs_idle > 0);
    assume(OPT_PURGE_DELAY, 1000);
    size_t purged = double_bytes(VERB_PURGE);
    for (uint64_t i = 0; i < RUN_BINS * 64; i++) {
        set_clock(now + 10);
        assert_int_equal(runs_take(other, &some, 1), 1);
        assert_true(runs_give(other, &some, 1));
    }
    assert_int_equal(double_bytes(VERB_PURGE), purged); /* no second is over */
    set_clock(now + SECOND);
    for (uint64_t i = 0; i < RUN_BINS * 64; i++) {
        set_clock(now + 10);
        assert_int_equal(runs_take(other, &some, 1), 1);
        assert_true(runs_give(other, &some, 1));
    }
    assert_true(double_bytes(VERB_PURGE) > purged);
    assert_int_equal(runs_idle, 0);
    assert_sound();
}

/* ---- made resident before they are touched ---- */

static size_t populated(void) {
    return double_bytes(VERB_POPULATE);
}

/* As many pages more as the run has in use, up to four; what is early is idle, and then taken without a call. */
static void test_a_run_that_grows_is_populated(void **state) {
    (void)state;
    unsigned bin = run_bin_of_request(1024);
    static const size_t after[16] = {0, 2, 2, 6, 6, 6, 6, 10, 10, 10, 10, 14, 14, 14, 14, 14};
    begin(MIB);
    assume(OPT_RUN_POPULATE, 4 * PAGE);
    take_objects(run_bin_of_request(16), 1); /* the window is there */
    double_count_from_here();
    for (size_t page = 0; page < 16; page++) {
        take_objects(bin, PAGE / 1024);
        assert_int_equal(populated(), after[page] * PAGE);
        assert_exact();
    }
    assert_int_equal(double_calls(VERB_POPULATE), 4);
    assert_sound();
}

/* Early pages that nobody wants go back like any others. */
static void test_early_pages_are_purged(void **state) {
    (void)state;
    unsigned bin = run_bin_of_request(1024);
    begin(0);
    assume(OPT_RUN_POPULATE, 4 * PAGE);
    for (int page = 0; page < 4; page++)
        take_objects(bin, PAGE / 1024);
    assert_int_equal(runs_idle, 3 * PAGE);
    double_count_from_here();
    assert_true(runs_purge_idle());
    assert_int_equal(double_bytes(VERB_PURGE), 3 * PAGE);
    assert_int_equal(runs_idle, 0);
    assert_exact();
    assert_sound();
}

/* The objects of `size` bytes of a run; nothing is populated for them. */
static void none_populated(size_t size) {
    double_count_from_here();
    take_objects(run_bin_of_request(size), RUN_SIZE / size);
    assert_int_equal(double_calls(VERB_POPULATE), 0);
    assert_exact();
}

static void test_where_nothing_is_populated(void **state) {
    (void)state;
    begin(MIB);
    assume(OPT_RUN_POPULATE, 4 * PAGE);
    none_populated(PAGE + 1); /* whose owner may touch a part only */
    assume(OPT_RUN_POPULATE, 0);
    none_populated(512);
    assume(OPT_RUN_POPULATE, 4 * PAGE);
    assume(OPT_SOFT_LIMIT, 512 * MIB); /* whoever watches wants no more than there has to be */
    footprint_watch();
    none_populated(256);
    assume(OPT_SOFT_LIMIT, 0);
    footprint_watch();
    double_fail_verb(VERB_POPULATE);
    take_objects(run_bin_of_request(128), RUN_SIZE / 128);
    assert_true(double_failures() > 0);
    assert_int_equal(runs_idle, 0);
    assert_exact();
    double_heal();
    assert_sound();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_run_that_grows_is_populated, pages_of_4k),
        cmocka_unit_test_setup(test_early_pages_are_purged, pages_of_4k),
        cmocka_unit_test_setup(test_where_nothing_is_populated, pages_of_4k),
        ON_EACH_PAGE_SIZE(test_exactly_when_the_last_one_comes),
        ON_EACH_PAGE_SIZE(test_until_the_first_one_goes),
        ON_EACH_PAGE_SIZE(test_random),
        ON_EACH_PAGE_SIZE(test_gone_pages_come_back),
        ON_EACH_PAGE_SIZE(test_gone_stays_gone_when_the_run_goes),
        ON_EACH_PAGE_SIZE(test_beyond_what_may_stay),
        ON_EACH_PAGE_SIZE(test_refused),
        cmocka_unit_test_setup(test_huge_pages_hold_idle_ones, pages_of_4k),
        cmocka_unit_test_setup(test_quiet_sizes_age, pages_of_4k),
    };
    return UNIT_RUN(tests);
}
