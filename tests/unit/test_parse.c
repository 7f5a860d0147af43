/* Options from text: numbers, variables, GLIBC_TUNABLES, RUNG_OPTIONS. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "options/options.h"
#include "options/parse.h"
#include "options/threshold.h"

/* ---- an environment that may only be read, and not beyond its end ---- */

enum { MOST_VARIABLES = 8 };

struct environment {
    char *variables[MOST_VARIABLES + 1];
    char *maps[MOST_VARIABLES];
    size_t map_len[MOST_VARIABLES];
    int count;
};

/* Appends a variable whose terminator is the last byte before a page that cannot be read. */
static void add(struct environment *env, const char *variable) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t len = strlen(variable) + 1;
    const size_t whole = (len + page - 1) / page * page;
    assert_true(env->count < MOST_VARIABLES);
    char *map =
        mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    char *copy = map + whole - len;
    memcpy(copy, variable, len);
    assert_int_equal(mprotect(map, whole, PROT_READ), 0);
    assert_int_equal(mprotect(map + whole, page, PROT_NONE), 0);
    env->variables[env->count] = copy;
    env->maps[env->count] = map;
    env->map_len[env->count++] = whole + page;
}

static void drop(struct environment *env) {
    while (env->count > 0) {
        env->count--;
        munmap(env->maps[env->count], env->map_len[env->count]);
        env->variables[env->count] = NULL;
    }
}

/* Reads an environment of up to three variables; NULL for fewer. */
static void read_environment(const char *a, const char *b, const char *c) {
    struct environment env = {0};
    const char *const variables[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        if (variables[i] != NULL)
            add(&env, variables[i]);
    }
    options_read_environment(env.variables, false);
    drop(&env);
}

static void assert_untouched(void) {
    assert_int_equal(option_profile(), PROFILE_DEFAULT);
    for (int i = 0; i < OPTION_COUNT; i++) {
        assert_int_equal(option((enum option)i),
                         option_info((enum option)i)->profile[PROFILE_DEFAULT]);
        assert_int_equal(option_origin((enum option)i), ORIGIN_PROFILE);
    }
    assert_false(thresholds_frozen());
}

/* ---- what is said on stderr ---- */

/* Reads an environment of one variable and returns what was written to stderr meanwhile. */
static const char *said_about(const char *variable) {
    static char said[8192];
    FILE *file = tmpfile();
    assert_non_null(file);
    const int kept = dup(2);
    assert_int_equal(dup2(fileno(file), 2), 2);
    read_environment(variable, NULL, NULL);
    assert_int_equal(dup2(kept, 2), 2);
    close(kept);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    return said;
}

static size_t count_lines(const char *text) {
    size_t lines = 0;
    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

/* ---- numbers ---- */

static void test_numbers_as_glibc_reads_them(void **state) {
    (void)state;
    const struct {
        const char *text;
        bool taken;
        size_t value;
    } cases[] = {
        {"0", true, 0},
        {"16", true, 16},
        {"+16", true, 16},
        {" \t 16", true, 16},
        {"0x10", true, 16},
        {"0XfF", true, 255},
        {"010", true, 8},
        {"00", true, 0},
        {"-1", true, SIZE_MAX},
        {"-0", true, 0},
        {"-0x10", true, SIZE_MAX - 15},
        /* No digit at all is nothing, and nothing is left over. */
        {"", true, 0},
        {" ", true, 0},
        {"+", true, 0},
        {"-", true, 0},
        {"0x", true, 0},
        {"16 ", false, 0},
        {"16k", false, 0},
        {"1.5", false, 0},
        {"1e3", false, 0},
        {"08", false, 0},
        {"0o10", false, 0},
        {"0xg", false, 0},
        {"x10", false, 0},
        {"a", false, 0},
        {"--1", false, 0},
        {"+-1", false, 0},
        {"- 1", false, 0},
        {"\n1", false, 0},
        {"\v1", false, 0},
        {"1,000", false, 0},
        {"on", false, 0},
        {"\xd9\xa3", false, 0}, /* an Arabic-Indic three */
        {"9223372036854775807", true, 9223372036854775807u},
        {"9223372036854775808", true, 9223372036854775808u},
        {"18446744073709551605", true, 18446744073709551605u},
        {"0xffffffffffffffef", true, 0xffffffffffffffef},
        {"01777777777777777777767", true, SIZE_MAX - 8},
        /* The last few before 2^64 count as an overflow, there and here. */
        {"18446744073709551615", false, 0},
        {"0xffffffffffffffff", false, 0},
        {"18446744073709551616", false, 0},
        {"0x10000000000000000", false, 0},
        {"02000000000000000000000", false, 0},
        {"99999999999999999999999999999999", false, 0},
        {"00000000000000000000000000000000000000020", true, 16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t value = 0;
        if (number_from_glibc_text(span_of(cases[i].text), &value) != cases[i].taken)
            fail_msg("'%s' was %s", cases[i].text, cases[i].taken ? "refused" : "taken");
        if (cases[i].taken)
            assert_int_equal(value, cases[i].value);
    }
}

static void test_numbers_of_rung_options(void **state) {
    (void)state;
    const struct {
        const char *text;
        enum option_type type;
        bool taken;
        size_t value;
    } cases[] = {
        {"64", TYPE_COUNT, true, 64},
        {"0x40", TYPE_COUNT, true, 64},
        {"0100", TYPE_COUNT, true, 64},
        {"18446744073709551615", TYPE_COUNT, true, SIZE_MAX},
        {"0xffffffffffffffff", TYPE_BYTES, true, SIZE_MAX},
        {"18446744073709551616", TYPE_COUNT, false, 0},
        {"64k", TYPE_COUNT, false, 0},
        {"on", TYPE_COUNT, false, 0},
        {"64k", TYPE_BYTES, true, 65536},
        {"64K", TYPE_BYTES, true, 65536},
        {"1m", TYPE_BYTES, true, 1048576},
        {"1M", TYPE_BYTES, true, 1048576},
        {"2g", TYPE_BYTES, true, 2147483648u},
        {"2G", TYPE_BYTES, true, 2147483648u},
        {"0k", TYPE_BYTES, true, 0},
        {"0x10k", TYPE_BYTES, true, 16384},
        {"17179869183g", TYPE_BYTES, true, 18446744072635809792u},
        {"17179869184g", TYPE_BYTES, false, 0},
        {"64kb", TYPE_BYTES, false, 0},
        {"64 k", TYPE_BYTES, false, 0},
        {"64t", TYPE_BYTES, false, 0},
        {"k", TYPE_BYTES, false, 0},
        {"0x", TYPE_BYTES, false, 0},
        {"0xk", TYPE_BYTES, false, 0},
        {"", TYPE_BYTES, false, 0},
        {"", TYPE_COUNT, false, 0},
        {"-1", TYPE_BYTES, false, 0},
        {"+1", TYPE_COUNT, false, 0},
        {" 1", TYPE_COUNT, false, 0},
        {"1 ", TYPE_COUNT, false, 0},
        {"on", TYPE_BOOL, true, 1},
        {"yes", TYPE_BOOL, true, 1},
        {"true", TYPE_BOOL, true, 1},
        {"1", TYPE_BOOL, true, 1},
        {"off", TYPE_BOOL, true, 0},
        {"no", TYPE_BOOL, true, 0},
        {"false", TYPE_BOOL, true, 0},
        {"0", TYPE_BOOL, true, 0},
        {"2", TYPE_BOOL, false, 0},
        {"of", TYPE_BOOL, false, 0},
        {"offf", TYPE_BOOL, false, 0},
        {"", TYPE_BOOL, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t value = 0;
        const bool taken = number_from_option_text(span_of(cases[i].text), cases[i].type, &value);
        if (taken != cases[i].taken)
            fail_msg("'%s' was %s", cases[i].text, taken ? "taken" : "refused");
        if (taken)
            assert_int_equal(value, cases[i].value);
    }
}

/* ---- the environment ---- */

static void test_empty_environments(void **state) {
    (void)state;
    char *nothing[] = {NULL};
    option_set(OPT_TOP_PAD, 1, ORIGIN_MALLOPT);
    options_read_environment(NULL, false);
    assert_untouched();
    option_set(OPT_TOP_PAD, 1, ORIGIN_MALLOPT);
    options_read_environment(nothing, false);
    assert_untouched();
    /* No "=", an empty name, names that only begin or end like ours. */
    read_environment("GLIBC_TUNABLES", "=glibc.malloc.arena_max=1",
                     "XGLIBC_TUNABLES=glibc.malloc.arena_max=1");
    assert_untouched();
    read_environment("MALLOC_ARENA_MAX", "MALLOC_ARENA_MAX_=1", "MALLOC_ARENA_MA=1");
    assert_untouched();
}

/* Each option with a variable is set by it, to a value that the variable's digits say. */
static void test_every_variable(void **state) {
    (void)state;
    int seen = 0;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_info *row = option_info((enum option)i);
        if (row->alias == NULL)
            continue;
        char variable[100];
        snprintf(variable, sizeof variable, "%s=0x2", row->alias);
        read_environment(variable, NULL, NULL);
        for (int j = 0; j < OPTION_COUNT; j++)
            assert_int_equal(option_origin((enum option)j), i == j ? ORIGIN_ALIAS : ORIGIN_PROFILE);
        assert_int_equal(option((enum option)i), 2);
        seen++;
    }
    assert_int_equal(seen, 8);
    /* These have none. */
    read_environment("MALLOC_TCACHE_COUNT_=0", "MALLOC_TCACHE_COUNT=0", "MALLOC_TCACHE_MAX_=64");
    assert_untouched();
}

static void test_every_tunable(void **state) {
    (void)state;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_info *row = option_info((enum option)i);
        if (i == OPT_DECORATE_MAPS || row->tunable == NULL)
            continue;
        char variable[100];
        snprintf(variable, sizeof variable, "GLIBC_TUNABLES=%s=3", row->tunable);
        read_environment(variable, NULL, NULL);
        for (int j = 0; j < OPTION_COUNT; j++)
            assert_int_equal(option_origin((enum option)j),
                             i == j ? ORIGIN_TUNABLES : ORIGIN_PROFILE);
        assert_int_equal(option((enum option)i), 3);
    }
}

static void test_every_rung_option(void **state) {
    (void)state;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_info *row = option_info((enum option)i);
        size_t value = row->max >= 2 ? 2 : row->max;
        char variable[100];
        snprintf(variable, sizeof variable, "RUNG_OPTIONS=%s=%zu", row->name, value);
        assert_string_equal(said_about(variable), "");
        for (int j = 0; j < OPTION_COUNT; j++)
            assert_int_equal(option_origin((enum option)j),
                             i == j ? ORIGIN_RUNG_OPTIONS : ORIGIN_PROFILE);
        assert_int_equal(option((enum option)i), value);
    }
}

static void test_decorate_maps_tunable(void **state) {
    (void)state;
    const struct {
        const char *variable;
        size_t value;
    } cases[] = {
        {"GLIBC_TUNABLES=glibc.mem.decorate_maps=0", 0},
        {"GLIBC_TUNABLES=glibc.mem.decorate_maps=1", 2},
        {"GLIBC_TUNABLES=glibc.mem.decorate_maps=2", 0},
        {"GLIBC_TUNABLES=glibc.malloc.decorate_maps=1", 0},
        {"RUNG_OPTIONS=decorate_maps=2", 2},
        {"RUNG_OPTIONS=decorate_maps=0", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        read_environment(cases[i].variable, NULL, NULL);
        assert_int_equal(option(OPT_DECORATE_MAPS), cases[i].value);
    }
}

/* Whatever order the variables stand in. */
static void test_precedence(void **state) {
    (void)state;
    const char *const alias = "MALLOC_ARENA_MAX=2";
    const char *const tunables = "GLIBC_TUNABLES=glibc.malloc.arena_max=3";
    const char *const rung = "RUNG_OPTIONS=arena_max=4";
    const char *const orders[][3] = {
        {alias, tunables, rung}, {alias, rung, tunables}, {tunables, alias, rung},
        {tunables, rung, alias}, {rung, alias, tunables}, {rung, tunables, alias},
    };
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        read_environment(orders[i][0], orders[i][1], orders[i][2]);
        assert_int_equal(option(OPT_ARENA_MAX), 4);
        assert_int_equal(option_origin(OPT_ARENA_MAX), ORIGIN_RUNG_OPTIONS);
        read_environment(orders[i][0], orders[i][1], NULL);
        const bool rung_seen = orders[i][0] == rung || orders[i][1] == rung;
        assert_int_equal(option(OPT_ARENA_MAX), rung_seen ? 4 : 3);
    }
}

/* A tunable that is refused does not shadow the variable, and the other way round. */
static void test_refused_values_give_way(void **state) {
    (void)state;
    const char *const refused[] = {
        "GLIBC_TUNABLES=glibc.malloc.arena_max=0",
        "GLIBC_TUNABLES=glibc.malloc.arena_max=",
        "GLIBC_TUNABLES=glibc.malloc.arena_max=4x",
        "GLIBC_TUNABLES=glibc.malloc.arena_max=99999999999999999999",
        "GLIBC_TUNABLES=glibc.malloc.arena_max=4:",
        "GLIBC_TUNABLES=glibc.malloc.arena_max=4=5",
        "GLIBC_TUNABLES=glibc.malloc.arena_max=4:glibc.malloc.arena_max=x",
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        read_environment(refused[i], "MALLOC_ARENA_MAX=2", NULL);
        assert_int_equal(option(OPT_ARENA_MAX), 2);
        assert_int_equal(option_origin(OPT_ARENA_MAX), ORIGIN_ALIAS);
    }
    read_environment("MALLOC_ARENA_MAX=0", "MALLOC_ARENA_TEST=0", "MALLOC_PERTURB_=256");
    assert_untouched();
    read_environment("MALLOC_MMAP_MAX_=2147483648", "MALLOC_MMAP_MAX_=-1", "MALLOC_CHECK_=4");
    assert_untouched();
}

/* Of several of one name the last counts, and a last one that is refused means none. */
static void test_repeated_variables(void **state) {
    (void)state;
    read_environment("MALLOC_ARENA_MAX=2", "MALLOC_ARENA_MAX=3", NULL);
    assert_int_equal(option(OPT_ARENA_MAX), 3);
    read_environment("MALLOC_ARENA_MAX=2", "MALLOC_ARENA_MAX=x", NULL);
    assert_untouched();
    read_environment("GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.malloc.perturb=7",
                     "GLIBC_TUNABLES=glibc.malloc.arena_max=3", NULL);
    assert_int_equal(option(OPT_ARENA_MAX), 3);
    assert_int_equal(option(OPT_PERTURB), 7);
    read_environment("RUNG_OPTIONS=arena_max=2,perturb=7", "RUNG_OPTIONS=arena_max=3", NULL);
    assert_int_equal(option(OPT_ARENA_MAX), 3);
    assert_int_equal(option(OPT_PERTURB), 7);
}

static void test_secure_processes(void **state) {
    (void)state;
    struct environment env = {0};
    add(&env, "MALLOC_ARENA_MAX=2");
    add(&env, "GLIBC_TUNABLES=glibc.malloc.top_pad=4096");
    add(&env, "RUNG_OPTIONS=profile=glibc,tcache_count=3,nonsense");
    options_read_environment(env.variables, true);
    assert_untouched();
    drop(&env);
    read_environment("GLIBC_TUNABLES=glibc.malloc.top_pad=4096:glibc.rtld.enable_secure=1",
                     "MALLOC_ARENA_MAX=2", "RUNG_OPTIONS=tcache_count=3");
    assert_untouched();
    read_environment("GLIBC_TUNABLES=glibc.malloc.top_pad=4096:glibc.rtld.enable_secure=0",
                     "MALLOC_ARENA_MAX=2", NULL);
    assert_int_equal(option(OPT_TOP_PAD), 4096);
    assert_int_equal(option(OPT_ARENA_MAX), 2);
}

static void test_each_of_the_four_freezes(void **state) {
    (void)state;
    const char *const freezing[] = {
        "MALLOC_TRIM_THRESHOLD_=131072",
        "MALLOC_TOP_PAD_=131072",
        "MALLOC_MMAP_THRESHOLD_=131072",
        "MALLOC_MMAP_MAX_=65536",
        "GLIBC_TUNABLES=glibc.malloc.trim_threshold=131072",
        "GLIBC_TUNABLES=glibc.malloc.top_pad=131072",
        "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072",
        "GLIBC_TUNABLES=glibc.malloc.mmap_max=65536",
        "RUNG_OPTIONS=trim_threshold=128k",
        "RUNG_OPTIONS=top_pad=128k",
        "RUNG_OPTIONS=mmap_threshold=128k",
        "RUNG_OPTIONS=mmap_max=65536",
    };
    for (size_t i = 0; i < sizeof freezing / sizeof freezing[0]; i++) {
        read_environment(freezing[i], NULL, NULL);
        assert_true(thresholds_frozen());
    }
    const char *const harmless[] = {
        "MALLOC_ARENA_MAX=1",
        "MALLOC_TRIM_THRESHOLD_=x",
        "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.hugetlb=1",
        "GLIBC_TUNABLES=glibc.malloc.top_pad=0:",
        "GLIBC_TUNABLES=glibc.malloc.mmap_max=2147483648",
        "RUNG_OPTIONS=perturb=1,decorate_maps=0",
    };
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        read_environment(harmless[i], NULL, NULL);
        assert_false(thresholds_frozen());
    }
}

/* ---- GLIBC_TUNABLES ---- */

#define COUNT "glibc.malloc.tcache_count"

static void test_nasty_tunables(void **state) {
    (void)state;
    const struct {
        const char *text;
        size_t tcache_count;
    } cases[] = {
        {"", 16},
        {":", 16},
        {":::", 16},
        {"=", 16},
        {"==", 16},
        {"=5", 16},
        {COUNT, 16},
        {COUNT "=", 0},
        {COUNT "=5", 5},
        {COUNT "=5:", 16},
        {COUNT "=5::", 16},
        {COUNT "=5:x", 16},
        {COUNT "=5:x=", 5},
        {COUNT "=5:=", 5},
        {COUNT "=5:=x", 5},
        {COUNT "=5:=x=", 16},
        {COUNT "=5=", 16},
        {COUNT "=5=6", 16},
        {COUNT "==5", 16},
        {COUNT ":=5", 16},
        {COUNT ":" COUNT "=5", 5},
        {"x:" COUNT "=5", 5},
        {"x:y:z:" COUNT "=5", 5},
        {":" COUNT "=5", 5},
        {"::::" COUNT "=5", 5},
        {"x=y:" COUNT "=5", 5},
        {"x=y=z:" COUNT "=5", 16},
        {COUNT "=5:x=y=z", 16},
        {COUNT "=5:" COUNT "=6", 6},
        {COUNT "=5:" COUNT "=x", 16},
        {COUNT "=x:" COUNT "=6", 6},
        {COUNT "=5:" COUNT "=65536", 16},
        {COUNT "=65535", 65535},
        {COUNT "=65536", 16},
        {COUNT "=-1", 16},
        {COUNT "=-18446744073709551605", 11},
        {COUNT "=+5", 5},
        {COUNT "= 5", 5},
        {COUNT "=5 ", 16},
        {" " COUNT "=5", 16},
        {COUNT " =5", 16},
        {COUNT "=0x5", 5},
        {COUNT "=010", 8},
        {COUNT "=09", 16},
        {COUNT "=5,arena_max=1", 16},
        {COUNT "x=5", 16},
        {"glibc.malloc.tcache_coun=5", 16},
        {"glibc.malloc.TCACHE_COUNT=5", 16},
        {"tcache_count=5", 16},
        {"glibc.malloc.=5", 16},
        {"glibc.malloc.tcache_count=5:glibc.nosuch.thing=1", 5},
        {"glibc.malloc.tcache_count=5:\xff\xfe\x01=\x80", 5},
        {COUNT "=\x80", 16},
        /* A string that overflowed ld.so's buffer once. */
        {COUNT "=" COUNT "=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 16},
        {"%s%s%s%n%n%n=%s:" COUNT "=5", 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char variable[400];
        snprintf(variable, sizeof variable, "GLIBC_TUNABLES=%s", cases[i].text);
        const char *said = said_about(variable);
        if (*said != '\0')
            fail_msg("'%s' was answered: %s", cases[i].text, said);
        if (option(OPT_TCACHE_COUNT) != cases[i].tcache_count)
            fail_msg("'%s' gives %zu, not %zu", cases[i].text, option(OPT_TCACHE_COUNT),
                     cases[i].tcache_count);
    }
}

static void test_long_tunables(void **state) {
    (void)state;
    const size_t len = 1 << 20;
    char *variable = malloc(len + 100);
    assert_non_null(variable);
    /* A long value, a long name, and many short pieces, each with a good piece behind it. */
    const char fill[] = {'7', 'n', ':'};
    for (size_t i = 0; i < sizeof fill; i++) {
        const char *front = fill[i] == '7' ? "GLIBC_TUNABLES=" COUNT "=" : "GLIBC_TUNABLES=";
        strcpy(variable, front);
        memset(variable + strlen(front), fill[i], len - strlen(front));
        strcpy(variable + len, fill[i] == 'n' ? "=1:" COUNT "=3" : ":" COUNT "=3");
        read_environment(variable, NULL, NULL);
        assert_int_equal(option(OPT_TCACHE_COUNT), 3);
    }
    free(variable);
}

/* ---- random strings ---- */

static unsigned seed_from_environment(void) {
    const char *given = getenv("RUNG_TEST_SEED");
    const unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 0) : (unsigned)time(NULL);
    printf("RUNG_TEST_SEED=%u\n", seed);
    return seed;
}

/* Pieces whose meaning is known, so that the meaning of their sequence is. */
static const struct piece {
    const char *text;
    enum { MEANS_VALUE, MEANS_NO_VALUE, MEANS_OTHER, MEANS_NO_PAIR, MEANS_MALFORMED } means;
    enum option option;
    size_t value;
} pieces[] = {
    {"glibc.malloc.tcache_count=7", MEANS_VALUE, OPT_TCACHE_COUNT, 7},
    {"glibc.malloc.tcache_count=0x20", MEANS_VALUE, OPT_TCACHE_COUNT, 32},
    {"glibc.malloc.tcache_count=65536", MEANS_NO_VALUE, OPT_TCACHE_COUNT, 0},
    {"glibc.malloc.tcache_count=7 ", MEANS_NO_VALUE, OPT_TCACHE_COUNT, 0},
    {"glibc.malloc.tcache_count=", MEANS_VALUE, OPT_TCACHE_COUNT, 0},
    {"glibc.malloc.arena_max=3", MEANS_VALUE, OPT_ARENA_MAX, 3},
    {"glibc.malloc.arena_max=0", MEANS_NO_VALUE, OPT_ARENA_MAX, 0},
    {"glibc.malloc.top_pad=010", MEANS_VALUE, OPT_TOP_PAD, 8},
    {"glibc.malloc.top_pad=-1", MEANS_VALUE, OPT_TOP_PAD, SIZE_MAX},
    {"glibc.malloc.top_pad=18446744073709551616", MEANS_NO_VALUE, OPT_TOP_PAD, 0},
    {"glibc.mem.decorate_maps=1", MEANS_VALUE, OPT_DECORATE_MAPS, 2},
    {"glibc.mem.decorate_maps=2", MEANS_NO_VALUE, OPT_DECORATE_MAPS, 0},
    {"glibc.malloc.tcache_counter=7", MEANS_OTHER, 0, 0},
    {"glibc.elision.enable=1", MEANS_OTHER, 0, 0},
    {"=", MEANS_OTHER, 0, 0},
    {"=7", MEANS_OTHER, 0, 0},
    {"", MEANS_NO_PAIR, 0, 0},
    {"glibc.malloc.arena_max", MEANS_NO_PAIR, 0, 0},
    {"7", MEANS_NO_PAIR, 0, 0},
    {"glibc.malloc.arena_max=3=3", MEANS_MALFORMED, 0, 0},
    {"==", MEANS_MALFORMED, 0, 0},
};

enum { PIECES = sizeof pieces / sizeof pieces[0], MOST_PIECES = 12 };

static void test_random_sequences_of_tunables(void **state) {
    (void)state;
    srand(seed_from_environment());
    for (int round = 0; round < 20000; round++) {
        char variable[1000] = "GLIBC_TUNABLES=";
        const int count = 1 + rand() % MOST_PIECES;
        const struct piece *last[OPTION_COUNT] = {NULL};
        bool malformed = false;
        const struct piece *piece = NULL;
        for (int i = 0; i < count; i++) {
            /* Malformed pieces are rare, or hardly a sequence would mean anything. */
            piece = &pieces[rand() % (rand() % 8 == 0 ? PIECES : PIECES - 2)];
            strcat(variable, i > 0 ? ":" : "");
            strcat(variable, piece->text);
            malformed |= piece->means == MEANS_MALFORMED;
            if (piece->means == MEANS_VALUE || piece->means == MEANS_NO_VALUE)
                last[piece->option] = piece;
        }
        const bool empty = strcmp(variable, "GLIBC_TUNABLES=") == 0;
        malformed |= piece->means == MEANS_NO_PAIR && !empty;
        char *environment[] = {variable, NULL};
        options_read_environment(environment, false);
        for (int i = 0; i < OPTION_COUNT; i++) {
            const bool set = !malformed && last[i] != NULL && last[i]->means == MEANS_VALUE;
            const size_t value =
                set ? last[i]->value : option_info((enum option)i)->profile[PROFILE_DEFAULT];
            if (option((enum option)i) != value)
                fail_msg("%s: %s is %zu, not %zu", variable, option_info((enum option)i)->name,
                         option((enum option)i), value);
            assert_int_equal(option_origin((enum option)i), set ? ORIGIN_TUNABLES : ORIGIN_PROFILE);
        }
    }
}

/* Any bytes: no crash, nothing read beyond the end, nothing out of range. */
static void test_random_bytes(void **state) {
    (void)state;
    srand(seed_from_environment());
    static const char *const words[] = {
        "GLIBC_TUNABLES=",
        "MALLOC_ARENA_MAX=",
        "MALLOC_TOP_PAD_=",
        "glibc.malloc.tcache_max",
        "glibc.malloc.perturb",
        "=",
        ":",
        "=0x",
        "-",
        "0",
        "99999999999",
        "=1:",
        ",",
    };
    enum { WORDS = sizeof words / sizeof words[0] };
    for (int round = 0; round < 5000; round++) {
        struct environment env = {0};
        for (int n = rand() % 3; n >= 0; n--) {
            char variable[600] = "";
            strcat(variable, words[rand() % 3]);
            for (int i = rand() % 20; i > 0; i--) {
                const char byte[2] = {(char)(1 + rand() % 255), '\0'};
                strcat(variable, rand() % 4 == 0 ? byte : words[rand() % WORDS]);
            }
            add(&env, variable);
        }
        options_read_environment(env.variables, false);
        drop(&env);
        for (int i = 0; i < OPTION_COUNT; i++) {
            const struct option_info *row = option_info((enum option)i);
            const size_t value = option((enum option)i);
            const bool set = option_origin((enum option)i) != ORIGIN_PROFILE;
            assert_true(set ? value >= row->min && value <= row->max
                            : value == row->profile[PROFILE_DEFAULT]);
        }
    }
}

/* ---- RUNG_OPTIONS ---- */

static void test_rung_options(void **state) {
    (void)state;
    assert_string_equal(said_about("RUNG_OPTIONS=arena_max=4,top_pad=1M,,tcache_count=0x20,"), "");
    assert_int_equal(option(OPT_ARENA_MAX), 4);
    assert_int_equal(option(OPT_TOP_PAD), 1048576);
    assert_int_equal(option(OPT_TCACHE_COUNT), 32);
    assert_string_equal(said_about("RUNG_OPTIONS=arena_max=4,arena_max=5"), "");
    assert_int_equal(option(OPT_ARENA_MAX), 5);
    assert_string_equal(said_about("RUNG_OPTIONS="), "");
    assert_untouched();
}

/* A profile is the ground that the options stand on, wherever it is named. */
static void test_profile_comes_first(void **state) {
    (void)state;
    read_environment("RUNG_OPTIONS=tcache_count=3,profile=glibc", "MALLOC_ARENA_MAX=2", NULL);
    assert_int_equal(option(OPT_TCACHE_COUNT), 3);
    assert_int_equal(option(OPT_ARENA_MAX), 2);
    assert_int_equal(option_origin(OPT_ARENA_MAX), ORIGIN_ALIAS);
    assert_int_equal(option(OPT_TOP_PAD), option_info(OPT_TOP_PAD)->profile[PROFILE_GLIBC]);
    assert_int_equal(option_profile(), PROFILE_GLIBC);
    read_environment("MALLOC_TOP_PAD_=0", "RUNG_OPTIONS=profile=glibc,profile=default", NULL);
    assert_int_equal(option_profile(), PROFILE_DEFAULT);
    assert_int_equal(option(OPT_TOP_PAD), 0);
    assert_true(thresholds_frozen());
}

/* One line for each thing that is wrong: it names the text, what is allowed and what to do; and
   the rest counts. */
static void test_complaints(void **state) {
    (void)state;
    const struct {
        const char *wrong, *named, *allowed;
    } cases[] = {
        {"arena_mx=3", "'arena_mx'", "no option"},
        {"ARENA_MAX=3", "'ARENA_MAX'", "no option"},
        {"=3", "''", "no option"},
        {"arena_max", "'arena_max'", "name=value"},
        {"arena_max=0", "'0'", "from 1"},
        {"arena_max=-1", "'-1'", "from 1"},
        {"tcache_count=65536", "'65536'", "from 0 to 65535"},
        {"tcache_count=64k", "'64k'", "from 0 to 65535"},
        {"tcache_max=5M", "'5M'", "a number of bytes from 0 to 4194304, also as 64k"},
        {"perturb=", "''", "from 0 to 255"},
        {"top_pad=1=2", "'1=2'", "a number of bytes from 0 up"},
        {"profile=fast", "'fast'", "glibc, default"},
        {"profile=", "''", "glibc, default"},
        {"\x1b[31mred", "'?[31mred'", "name=value"},
        {"%s%n=1", "'%s%n'", "no option"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char variable[200];
        snprintf(variable, sizeof variable, "RUNG_OPTIONS=top_pad=1k,%s,hugetlb=1", cases[i].wrong);
        const char *said = said_about(variable);
        if (strstr(said, cases[i].named) == NULL || strstr(said, cases[i].allowed) == NULL)
            fail_msg("'%s' was answered: %s", cases[i].wrong, said);
        assert_int_equal(count_lines(said), 1);
        assert_ptr_equal(strstr(said, "rung: RUNG_OPTIONS: "), said);
        assert_non_null(strstr(said, "rung tunables"));
        assert_int_equal(option(OPT_TOP_PAD), 1024);
        assert_int_equal(option(OPT_HUGETLB), 1);
    }
    assert_int_equal(count_lines(said_about("RUNG_OPTIONS=x=1,y=2,arena_max=3,z")), 3);
    assert_int_equal(option(OPT_ARENA_MAX), 3);
}

static void test_complaints_about_long_texts(void **state) {
    (void)state;
    char variable[5000] = "RUNG_OPTIONS=";
    const size_t front = strlen(variable);
    memset(variable + front, 'n', sizeof variable - 1 - front);
    const char *said = said_about(variable);
    assert_int_equal(count_lines(said), 1);
    assert_true(strlen(said) < 300);
    assert_non_null(strstr(said, "nnn...'"));
    assert_int_equal(said[strlen(said) - 1], '\n');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_as_glibc_reads_them),
        cmocka_unit_test(test_numbers_of_rung_options),
        cmocka_unit_test(test_empty_environments),
        cmocka_unit_test(test_every_variable),
        cmocka_unit_test(test_every_tunable),
        cmocka_unit_test(test_every_rung_option),
        cmocka_unit_test(test_decorate_maps_tunable),
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_refused_values_give_way),
        cmocka_unit_test(test_repeated_variables),
        cmocka_unit_test(test_secure_processes),
        cmocka_unit_test(test_each_of_the_four_freezes),
        cmocka_unit_test(test_nasty_tunables),
        cmocka_unit_test(test_long_tunables),
        cmocka_unit_test(test_random_sequences_of_tunables),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_rung_options),
        cmocka_unit_test(test_profile_comes_first),
        cmocka_unit_test(test_complaints),
        cmocka_unit_test(test_complaints_about_long_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
