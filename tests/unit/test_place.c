/* The lowest place for n pages, against a search from the start each time. */
#include "runs/place.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

enum {
    END_MAX = 16384,
    MOST_PARTS = 4096,
};

/* What a window has on systems with pages of 4, 16 and 64 KiB. */
static const struct {
    size_t end;
    size_t slot;
} windows[] = {{16384, 16}, {4096, 4}, {1024, 1}};

static struct places places;
static uint64_t map[END_MAX / WORD_BITS];
static bool naive[END_MAX];
static size_t end, slot;

static struct {
    size_t page;
    size_t n;
} parts[MOST_PARTS]; /* what is taken */
static size_t part_count;

static uint64_t seed;

static size_t below(size_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

static size_t find_naively(size_t n, size_t align) {
    for (size_t at = 0; at + n <= end; at += align) {
        size_t i = n;
        while (i > 0 && naive[at + i - 1])
            i--;
        if (i == 0)
            return at;
        if (align == 1)
            at += i - 1; /* none begins before the page that is taken */
    }
    return end;
}

/* Length of a class, from the table in place.h. */
static size_t length_of(size_t c) {
    return c < PLACE_EXACT ? c + 1 : (size_t)PLACE_EXACT << (c - PLACE_EXACT + 1);
}

/* What place.h says of each length. */
static void assert_invariants(void) {
    for (size_t start = 0, stop; start < end; start = stop + 1) {
        for (stop = start; stop < end && naive[stop];)
            stop++;
        for (size_t c = 0; c < PLACE_LENGTHS && stop - start >= length_of(c); c++) {
            if (start < places.from[c])
                fail_msg("[%zu, %zu) begins before %u for %zu", start, stop, places.from[c], length_of(c));
            if (start < places.next[c] && start != places.from[c])
                fail_msg("[%zu, %zu) begins between %u and the next, %u, for %zu", start, stop, places.from[c],
                         places.next[c], length_of(c));
        }
    }
    assert_true(find_naively(slot, slot) >= places.from[PLACE_SLOT]);
    assert_true(place_is_sound(&places, map, end, slot));
}

static void take_pages(size_t page, size_t n) {
    bits_clear(map, page, n);
    memset(naive + page, false, n);
    place_taken(&places, map, end, page, n);
    parts[part_count].page = page;
    parts[part_count++].n = n;
}

static void free_pages(size_t page, size_t n) {
    bits_set(map, page, n);
    memset(naive + page, true, n);
    place_freed(&places, map, end, page, n, slot);
}

static size_t search(size_t n, size_t align, bool for_slot) {
    size_t found = place_find(&places, map, end, n, align, for_slot);
    if (found != find_naively(n, align))
        fail_msg("%zu pages at a multiple of %zu%s: found %zu, not %zu", n, align,
                 for_slot ? " for a slot" : "", found, find_naively(n, align));
    return found;
}

static size_t some_length(void) {
    switch (below(8)) {
    case 0:
        return 1 + below(end / 2);
    case 1:
        return (size_t)1 << below(log2_floor(end));
    case 2:
        return 1 + below(128);
    case 3:
        return slot;
    default:
        return 1 + below(16);
    }
}

static void take_some(void) {
    size_t n = some_length();
    size_t align = 1;
    bool for_slot = below(3) == 0;
    if (for_slot)
        n = align = slot;
    else if (below(4) == 0)
        align = (size_t)1 << below(log2_floor(end / 2) + 1);
    size_t found = search(n, align, for_slot);
    if (found < end && part_count < MOST_PARTS && below(16) != 0) /* else it could not be made accessible */
        take_pages(found, n);
}

/* Pages in a stretch that somebody has found by other means: what is behind a block that grows, or what
   is purged from the end of a stretch. */
static void take_in_the_middle(void) {
    size_t page = bits_next_set(map, below(end), end);
    size_t n = bits_next_clear(map, page, end) - page;
    if (n == 0 || part_count == MOST_PARTS)
        return;
    size_t first = below(n);
    size_t most = below(4) == 0 ? n - first : 1;
    take_pages(page + first, 1 + below(most));
}

/* A taken part, the whole of it or one end. */
static void free_some(void) {
    if (part_count == 0)
        return;
    size_t i = below(part_count);
    size_t page = parts[i].page, n = parts[i].n;
    if (n > 1 && below(4) == 0) {
        size_t kept = 1 + below(n - 1);
        parts[i].n = kept;
        page += kept;
        n -= kept;
    } else {
        parts[i] = parts[--part_count];
    }
    free_pages(page, n);
}

/* Phases in which the window fills and empties. */
static void step(unsigned i) {
    bool filling = i / 500 % 2 == 0;
    size_t what = below(16);
    if (what == 0)
        take_in_the_middle();
    else if (what < (filling ? 11u : 6u))
        take_some();
    else
        free_some();
}

static void begin(size_t which, bool all_free) {
    end = windows[which].end;
    slot = windows[which].slot;
    memset(&places, 0, sizeof places);
    memset(map, 0, sizeof map);
    memset(naive, 0, sizeof naive);
    part_count = 0;
    size_t head = end / 100; /* is never free */
    if (all_free) {
        bits_set(map, head, end - head);
        memset(naive + head, true, end - head);
    } else { /* as the resident pages are at first */
        parts[part_count].page = head;
        parts[part_count++].n = end - head;
    }
}

static void test_random(void **state) {
    (void)state;
    enum { SEEDS = 6, STEPS = 6000 };
    for (size_t which = 0; which < sizeof windows / sizeof *windows; which++)
        for (uint64_t s = 1; s <= SEEDS; s++) {
            seed = s;
            begin(which, s % 2 == 0);
            printf("%zu pages, seed %llu\n", end, (unsigned long long)s);
            fflush(stdout);
            for (unsigned i = 0; i < STEPS; i++) {
                step(i);
                if (i % 16 == 0)
                    assert_invariants();
            }
        }
}

/* Every length in a map whose stretches get longer and longer. */
static void test_each_length(void **state) {
    (void)state;
    begin(0, false);
    part_count = 0;
    for (size_t n = 1, page = 200; page + n < end; n++) {
        free_pages(page, n);
        page += n + 1;
    }
    for (size_t n = 1; n <= end / 2; n++)
        (void)search(n, 1, false);
    assert_invariants();
    for (size_t n = end / 2; n > 0; n--) /* and from what the searches have learned */
        (void)search(n, 1, false);
    (void)search(slot, slot, true);
    assert_invariants();
}

static void test_a_full_map(void **state) {
    (void)state;
    for (size_t which = 0; which < sizeof windows / sizeof *windows; which++) {
        begin(which, false);
        assert_int_equal(search(1, 1, false), end);
        assert_int_equal(search(slot, slot, true), end);
        free_pages(end - 1, 1); /* the last page, when all was given up */
        assert_int_equal(search(1, 1, false), end - 1);
        assert_int_equal(search(2, 1, false), end);
        free_pages(end - slot, slot - 1);
        assert_int_equal(search(slot, slot, true), end - slot);
        assert_invariants();
    }
}

/* The stretch that was searched in vain for a longer one is found for a shorter one, and the other way
   round once it has grown. */
static void test_a_stretch_that_grows(void **state) {
    (void)state;
    begin(0, false);
    size_t page = 1000;
    for (size_t n = 1; n < 300; n++) {
        assert_int_equal(search(n, 1, false), end);
        free_pages(page + n - 1, 1);
        assert_int_equal(search(n, 1, false), page);
        assert_int_equal(search(n + 1, 1, false), end);
    }
    assert_invariants();
}

/* What is taken out of the middle leaves two that are both found. */
static void test_a_stretch_that_is_split(void **state) {
    (void)state;
    begin(0, false);
    free_pages(1000, 100);
    free_pages(5000, 40);
    assert_int_equal(search(100, 1, false), 1000);
    assert_int_equal(search(101, 1, false), end);
    take_pages(1010, 10);
    assert_int_equal(search(80, 1, false), 1020);
    assert_int_equal(search(10, 1, false), 1000);
    assert_int_equal(search(11, 1, false), 1020);
    take_pages(1050, 30); /* [1020, 1050), [1080, 1100) */
    assert_int_equal(search(31, 1, false), 5000);
    assert_int_equal(search(30, 1, false), 1020);
    assert_int_equal(search(16, 16, true), 1024);
    assert_invariants();
}

/* A page that becomes free in front of the first stretch is too short for two, but does not hide it. */
static void test_a_short_stretch_in_front(void **state) {
    (void)state;
    begin(0, false);
    free_pages(5000, 4);
    assert_int_equal(search(2, 1, false), 5000);
    free_pages(1000, 4);
    take_pages(1000, 1);
    take_pages(1001, 1);
    free_pages(1000, 1);
    assert_int_equal(search(2, 1, false), 1002);
    assert_int_equal(search(1, 1, false), 1000);
    assert_invariants();
}

static void assert_unsound(uint16_t *what, size_t value) {
    uint16_t before = *what;
    *what = (uint16_t)value;
    assert_false(place_is_sound(&places, map, end, slot));
    *what = before;
    assert_true(place_is_sound(&places, map, end, slot));
}

/* What is not looked at any more is reported. */
static void test_sound(void **state) {
    (void)state;
    begin(0, false);
    free_pages(1000, 24);
    free_pages(5000, 300);
    for (size_t c = 0; c < PLACE_LENGTHS; c++)
        if (length_of(c) <= 24)
            assert_unsound(&places.from[c], 1001);
        else if (length_of(c) <= 300)
            assert_unsound(&places.from[c], end);
    assert_int_equal(search(100, 1, false), 5000);
    assert_unsound(&places.from[PLACE_SLOT], 1009);
    places.from[0] = 900;
    assert_unsound(&places.next[0], 1001);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_each_length),
        cmocka_unit_test(test_a_full_map),
        cmocka_unit_test(test_a_stretch_that_grows),
        cmocka_unit_test(test_a_stretch_that_is_split),
        cmocka_unit_test(test_a_short_stretch_in_front),
        cmocka_unit_test(test_sound),
    };
    return UNIT_RUN(tests);
}
