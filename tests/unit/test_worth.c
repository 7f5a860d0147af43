/* What speaks for a deeper bin, and what does not. */
#include "cache/worth.h"

#include "unit.h"

/* A miss a letter: e when the bin was empty, f when it was full.  Returns what the last one proved. */
static bool after(const char *misses) {
    struct worth w = {0};
    bool proven = false;
    for (; *misses != '\0'; misses++)
        proven = worth_missed(&w, *misses == 'f');
    return proven;
}

static void test_turns(void **state) {
    (void)state;
    assert_true(after("efef"));
    assert_true(after("eeffeeffee"));
    assert_true(after("eefeefeef"));
    assert_false(after("ef")); /* once is by chance */
}

static void test_bursts(void **state) {
    (void)state;
    assert_false(after("eeeeeeeeeeeeeeee"));
    assert_false(after("ffffffffffffffff"));
    assert_false(after("eeeeeefffffffeeeeeeeffffffff"));
    assert_false(after("efefefefefeeeeeeeeeeeeeee")); /* what it was is forgotten */
    assert_true(after("eeeeeeeeeeeeeeeeefefef"));
}

/* Whether depth is worth it in a bin that only ever was empty, after so many whole exchanges. */
static bool after_exchanges(struct worth *w, int whole) {
    for (int i = 0; i < whole; i++)
        worth_exchanged(w, true);
    return worth_missed(w, false);
}

static void test_exchanges(void **state) {
    (void)state;
    struct worth w = {0};
    assert_false(after_exchanges(&w, 0));
    assert_false(after_exchanges(&w, WORTH_PASSING - 1));
    assert_true(after_exchanges(&w, 1));
    assert_true(after_exchanges(&w, 10000)); /* counts do not run over */
    for (int i = 0; i < WORTH_PASSING_MOST / WORTH_REFUSED; i++)
        worth_exchanged(&w, false);
    assert_false(worth_missed(&w, false));
    worth_exchanged(&w, false); /* nor under */
    assert_false(after_exchanges(&w, WORTH_PASSING - 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_bursts),
        cmocka_unit_test(test_exchanges),
    };
    return UNIT_RUN(tests);
}
