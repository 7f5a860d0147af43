/* The formatter. */
#include <limits.h>
#include <string.h>

#include "base/fmt.h"
#include "unit.h"

#define ASSERT_TEXT(expected, ...)                                                                           \
    do {                                                                                                     \
        char buf[200];                                                                                       \
        struct text t = text_in(buf, sizeof buf);                                                            \
        text_add(&t, __VA_ARGS__);                                                                           \
        assert_string_equal(buf, expected);                                                                  \
        assert_int_equal(t.len, strlen(expected));                                                           \
        assert_false(t.truncated);                                                                           \
    } while (0)

static void test_conversions(void **state) {
    (void)state;
    ASSERT_TEXT("plain", "plain");
    ASSERT_TEXT("100 %", "%d %%", 100);
    ASSERT_TEXT("a-bc-", "%c-%s-", 'a', "bc");
    ASSERT_TEXT("-1 0 2147483647 -2147483648", "%d %d %d %d", -1, 0, INT_MAX, INT_MIN);
    ASSERT_TEXT("-9223372036854775808", "%ld", LONG_MIN);
    ASSERT_TEXT("4294967295 18446744073709551615", "%u %zu", UINT_MAX, SIZE_MAX);
    ASSERT_TEXT("18446744073709551615", "%lu", ULONG_MAX);
    ASSERT_TEXT("ff 0 ffffffffffffffff", "%x %x %zx", 255, 0, SIZE_MAX);
    ASSERT_TEXT("0x1f0", "%p", (void *)0x1f0);
    const char *volatile nothing = NULL;
    ASSERT_TEXT("(null)", "%s", nothing);
}

static void test_widths(void **state) {
    (void)state;
    ASSERT_TEXT("|   42|42   |00042|", "|%5d|%-5d|%05d|", 42, 42, 42);
    ASSERT_TEXT("|     abc|abc     |", "|%8s|%-8s|", "abc", "abc");
    ASSERT_TEXT("|abc|", "|%2s|", "abc");
    ASSERT_TEXT("|        12|", "|%10zu|", (size_t)12);
}

static void test_unknown_conversions_stay(void **state) {
    (void)state;
    const char *unknown = "%q %";
    char buf[50];
    struct text t = text_in(buf, sizeof buf);
    text_add(&t, unknown, 1);
    assert_string_equal(buf, "%q %");
}

/* Terminated at every capacity, and nothing is written behind it. */
static void test_truncation(void **state) {
    (void)state;
    for (size_t cap = 1; cap <= 12; cap++) {
        char buf[16];
        memset(buf, 'Z', sizeof buf);
        struct text t = text_in(buf, cap);
        text_add(&t, "%s%d", "hello", 123456);
        assert_int_equal(strlen(buf), cap - 1 < 11 ? cap - 1 : 11);
        assert_int_equal(t.len, strlen(buf));
        assert_memory_equal(buf, "hello123456", t.len);
        assert_int_equal(t.truncated, cap < 12);
        for (size_t i = cap; i < sizeof buf; i++)
            assert_int_equal(buf[i], 'Z');
    }
}

static void test_adding(void **state) {
    (void)state;
    char buf[8];
    struct text t = text_in(buf, sizeof buf);
    text_add(&t, "%s", "abc");
    text_add(&t, "%s", "def");
    assert_string_equal(buf, "abcdef");
    text_add(&t, "%s", "ghi");
    assert_string_equal(buf, "abcdefg");
    assert_true(t.truncated);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_unknown_conversions_stay),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_adding),
    };
    return UNIT_RUN(tests);
}
