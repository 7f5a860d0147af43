/* Maps of bits, against a map of one byte a bit. */
#include "base/bitmap.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

enum {
    BITS = 4 * WORD_BITS,
    MAPS = 24,
};

static uint64_t map[BITS / WORD_BITS];
static bool naive[BITS];

static uint64_t seed = 20240607;

static uint64_t next_random(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 16;
}

/* Empty, full, alternating, and random ones of all densities; runs of bits as well as single ones. */
static void draw(unsigned which) {
    bool on = false;
    for (size_t i = 0; i < BITS; i++) {
        switch (which) {
        case 0:
        case 1:
            on = which == 1;
            break;
        case 2:
            on = i % 2 == 0;
            break;
        case 3:
            on = i / WORD_BITS % 2 == 0;
            break;
        default:
            if (which % 2 == 0)
                on = next_random() % MAPS < which;
            else if (next_random() % (which * 2) == 0)
                on = !on;
        }
        naive[i] = on;
    }
    memset(map, 0, sizeof map);
    for (size_t i = 0; i < BITS; i++)
        map[i / WORD_BITS] |= (uint64_t)naive[i] << i % WORD_BITS;
}

static void assert_same(void) {
    for (size_t i = 0; i < BITS; i++)
        if (bit_get(map, i) != naive[i])
            fail_msg("bit %zu is %d", i, !naive[i]);
}

/* Calls f with every map and every [from, end) of it. */
static void each_range(void (*f)(size_t from, size_t end)) {
    printf("seed %llu\n", (unsigned long long)seed);
    for (unsigned which = 0; which < MAPS; which++) {
        draw(which);
        assert_same();
        for (size_t from = 0; from <= BITS; from++)
            for (size_t end = from; end <= BITS; end++)
                f(from, end);
    }
}

static void test_word_mask(void **state) {
    (void)state;
    for (size_t from = 0; from < WORD_BITS; from++)
        for (size_t to = from + 1; to <= WORD_BITS; to++)
            for (size_t i = 0; i < WORD_BITS; i++)
                assert_int_equal(word_mask(from, to) >> i & 1, i >= from && i < to);
}

static void change(size_t from, size_t end) {
    uint64_t before[BITS / WORD_BITS];
    memcpy(before, map, sizeof map);
    bits_set(map, from, end - from);
    for (size_t i = 0; i < BITS; i++)
        if (bit_get(map, i) != (naive[i] || (i >= from && i < end)))
            fail_msg("bits [%zu, %zu) set: bit %zu is wrong", from, end, i);
    memcpy(map, before, sizeof map);
    bits_clear(map, from, end - from);
    for (size_t i = 0; i < BITS; i++)
        if (bit_get(map, i) != (naive[i] && !(i >= from && i < end)))
            fail_msg("bits [%zu, %zu) cleared: bit %zu is wrong", from, end, i);
    memcpy(map, before, sizeof map);
}

static void test_set_and_clear(void **state) {
    (void)state;
    each_range(change);
}

static void look(size_t from, size_t end) {
    size_t count = 0, set = end, clear = end, past_set = 0, past_clear = 0;
    for (size_t i = end; i-- > from;) {
        count += naive[i];
        *(naive[i] ? &set : &clear) = i;
    }
    for (size_t i = 0; i < end; i++)
        *(naive[i] ? &past_set : &past_clear) = i + 1;
    assert_int_equal(bits_count(map, from, end - from), count);
    assert_int_equal(bits_all(map, from, end - from), count == end - from);
    assert_int_equal(bits_next_set(map, from, end), set);
    assert_int_equal(bits_next_clear(map, from, end), clear);
    assert_int_equal(bits_last(map, end, 0), past_set);
    assert_int_equal(bits_last(map, end, ~(uint64_t)0), past_clear);
}

static void test_count_and_search(void **state) {
    (void)state;
    each_range(look);
}

static size_t find_naively(size_t from, size_t end, size_t n, size_t align) {
    for (size_t at = align_up(from, align); at + n <= end; at += align) {
        size_t i = 0;
        while (i < n && naive[at + i])
            i++;
        if (i == n)
            return at;
    }
    return end;
}

/* A row of n in each range, n near what a word has and what the range has. */
static void find(size_t from, size_t end) {
    const size_t lengths[] = {1, 2, 3, 63, 64, 65, 128, end - from, end - from + 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t n = lengths[i];
        size_t align = (size_t)1 << next_random() % 8;
        if (n > 0 && bits_find(map, from, end, n, align) != find_naively(from, end, n, align))
            fail_msg("%zu at a multiple of %zu in [%zu, %zu): found %zu, not %zu", n, align, from, end,
                     bits_find(map, from, end, n, align), find_naively(from, end, n, align));
    }
}

static void test_find(void **state) {
    (void)state;
    each_range(find);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_word_mask),
        cmocka_unit_test(test_set_and_clear),
        cmocka_unit_test(test_count_and_search),
        cmocka_unit_test(test_find),
    };
    return UNIT_RUN(tests);
}
