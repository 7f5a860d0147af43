/* FIELD 19, row N1: the CPU quota of control groups, read from files that the test invents. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "os/cgroup.h"

/* ---- one file ---- */

static void test_cpu_max(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned cpus;
    } cases[] = {
        {"max 100000\n", 0},
        {"100000 100000\n", 1},
        {"100000 100000", 1},
        {"1000 100000\n", 1}, /* a hundredth of a CPU is still one */
        {"100001 100000\n", 2},
        {"150000 100000\n", 2},
        {"200000 100000\n", 2},
        {"6400000 100000\n", 64},
        {"25000 50000\n", 1},
        /* more than any machine has, or any number can say */
        {"18446744073709551615 1\n", UINT_MAX},
        {"99999999999999999999999999999 1000\n", UINT_MAX},
        {"4294967296 1\n", UINT_MAX},
        {"4294967294 1\n", UINT_MAX - 1},
        {"100000 99999999999999999999999999999\n", 1},
        /* no sense */
        {"", 0},
        {"\n", 0},
        {"100000", 0},
        {"100000\n", 0},
        {"100000 \n", 0},
        {" 100000 100000\n", 0},
        {"100000  100000\n", 0},
        {"100000\t100000\n", 0},
        {"100000 100000 \n", 0},
        {"100000 100000\n1\n", 0},
        {"100000 0\n", 0},
        {"0 100000\n", 0},
        {"0 0\n", 0},
        {"-1 100000\n", 0},
        {"+100000 100000\n", 0},
        {"1e5 100000\n", 0},
        {"100000 max\n", 0},
        {"max", 0},
        {"0x10 100000\n", 0},
        {"\xff\xfe", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cgroup_cpu_max(cases[i].text) != cases[i].cpus)
            fail_msg("\"%s\": %u, not %u", cases[i].text, cgroup_cpu_max(cases[i].text), cases[i].cpus);
}

static void test_cfs_quota(void **state) {
    (void)state;
    assert_int_equal(cgroup_cfs_quota("-1\n", "100000\n"), 0);
    assert_int_equal(cgroup_cfs_quota("100000\n", "100000\n"), 1);
    assert_int_equal(cgroup_cfs_quota("250000\n", "100000\n"), 3);
    assert_int_equal(cgroup_cfs_quota("100000\n", "0\n"), 0);
    assert_int_equal(cgroup_cfs_quota("100000\n", "-1\n"), 0);
    assert_int_equal(cgroup_cfs_quota("100000\n", ""), 0);
    assert_int_equal(cgroup_cfs_quota("", "100000\n"), 0);
    assert_int_equal(cgroup_cfs_quota("1 1\n", "1\n"), 0);
    assert_int_equal(cgroup_cfs_quota("99999999999999999999999\n", "1\n"), UINT_MAX);
}

static const char *path_in(const char *text, const char *controller) {
    static char path[32];
    return cgroup_path(text, controller, path, sizeof path) ? path : NULL;
}

static void test_path(void **state) {
    (void)state;
    static const char both[] = "12:cpuset:/one\n"
                               "5:cpuacct,cpu:/two\n"
                               "1:name=systemd:/three\n"
                               "0::/four\n";
    assert_string_equal(path_in(both, "cpu"), "/two");
    assert_string_equal(path_in(both, "cpuset"), "/one");
    assert_string_equal(path_in(both, "cpuacct"), "/two");
    assert_string_equal(path_in(both, ""), "/four");
    assert_null(path_in(both, "memory"));
    assert_null(path_in(both, "cp"));
    assert_string_equal(path_in("3:cpu,cpuacct:/a", "cpu"), "/a"); /* cut off */
    assert_string_equal(path_in("0::/\n", ""), "/");
    assert_string_equal(path_in("0::/a:b c..d/..e\n", ""), "/a:b c..d/..e");
    assert_null(path_in("", ""));
    assert_null(path_in("\n\n", ""));
    assert_null(path_in("0:", ""));
    assert_null(path_in("0::", ""));
    assert_null(path_in("0::relative\n", ""));
    assert_null(path_in("cpu\n", "cpu"));
    /* outside of what the mount shows */
    assert_null(path_in("0::/..\n", ""));
    assert_null(path_in("0::/../other\n", ""));
    assert_null(path_in("0::/a/../../b\n", ""));
    /* 31 characters fit */
    assert_string_equal(path_in("0::/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", ""),
                        "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_null(path_in("0::/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", ""));
}

/* ---- a tree of files ---- */

enum { MOST_FILES = 64 };
static const char *files[MOST_FILES][2];
static size_t file_count, reads;

static size_t read_invented(const char *path, char *buf, size_t cap) {
    reads++;
    for (size_t i = 0; i < file_count; i++) {
        if (strcmp(files[i][0], path) == 0) {
            size_t len = strlen(files[i][1]);
            len = len < cap ? len : cap - 1;
            memcpy(buf, files[i][1], len);
            buf[len] = '\0';
            return len;
        }
    }
    buf[0] = '\0';
    return 0;
}

static void no_files(void) {
    file_count = reads = 0;
}

static void add_file(const char *path, const char *text) {
    assert_true(file_count < MOST_FILES);
    files[file_count][0] = path;
    files[file_count++][1] = text;
}

static void add_own_group(const char *text) {
    no_files();
    add_file("/proc/self/cgroup", text);
}

static void test_nothing_to_read(void **state) {
    (void)state;
    no_files();
    assert_int_equal(cgroup_cpus(read_invented), 0);
    assert_int_equal(reads, 1);
    add_own_group("0::/a/b\n");
    assert_int_equal(cgroup_cpus(read_invented), 0);
    add_own_group("garbage");
    assert_int_equal(cgroup_cpus(read_invented), 0);
    assert_int_equal(reads, 1);
}

static void test_smallest_of_all_levels(void **state) {
    (void)state;
    add_own_group("0::/pods/pod/box\n");
    add_file("/sys/fs/cgroup/pods/pod/box/cpu.max", "max 100000\n");
    add_file("/sys/fs/cgroup/pods/pod/cpu.max", "300000 100000\n");
    add_file("/sys/fs/cgroup/pods/cpu.max", "900000 100000\n");
    assert_int_equal(cgroup_cpus(read_invented), 3);
    add_file("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    assert_int_equal(cgroup_cpus(read_invented), 2);
}

/* A container that sees its own group at the root of the mount, under whatever name. */
static void test_memory_high(void **state) {
    (void)state;
    assert_int_equal(cgroup_bytes("max\n"), 0);
    assert_int_equal(cgroup_bytes("104857600\n"), 104857600);
    assert_int_equal(cgroup_bytes("12 \n"), 0);
    assert_int_equal(cgroup_bytes("99999999999999999999999\n"), 0);
    assert_int_equal(cgroup_bytes(""), 0);
    add_own_group("0::/pods/pod/box\n");
    add_file("/sys/fs/cgroup/pods/pod/box/memory.high", "max\n");
    add_file("/sys/fs/cgroup/pods/pod/memory.high", "300000000\n");
    add_file("/sys/fs/cgroup/pods/memory.high", "200000000\n");
    assert_int_equal(cgroup_memory_high(read_invented), 200000000);
    add_own_group("4:memory:/a\n"); /* version 1 has no such file */
    add_file("/sys/fs/cgroup/a/memory.high", "300000000\n");
    assert_int_equal(cgroup_memory_high(read_invented), 0);
    no_files();
    assert_int_equal(cgroup_memory_high(read_invented), 0);
}

static void test_group_at_the_root(void **state) {
    (void)state;
    add_own_group("0::/\n");
    add_file("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    assert_int_equal(cgroup_cpus(read_invented), 2);
    assert_int_equal(reads, 2);
    add_own_group("0::/docker/0123456789abcdef\n");
    add_file("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    assert_int_equal(cgroup_cpus(read_invented), 2);
}

static void test_one_is_the_end(void **state) {
    (void)state;
    add_own_group("0::/a/b/c\n");
    add_file("/sys/fs/cgroup/a/b/c/cpu.max", "50000 100000\n");
    assert_int_equal(cgroup_cpus(read_invented), 1);
    assert_int_equal(reads, 2);
}

static void test_malformed_level_is_passed_over(void **state) {
    (void)state;
    add_own_group("0::/a/b\n");
    add_file("/sys/fs/cgroup/a/b/cpu.max", "no number at all, and longer than the buffer for it could ever need to be");
    add_file("/sys/fs/cgroup/a/cpu.max", "400000 100000\n");
    assert_int_equal(cgroup_cpus(read_invented), 4);
}

/* Version 1, alone or beside a version 2 that has no controllers. */
static void test_version_1(void **state) {
    (void)state;
    add_own_group("4:memory:/a/b\n3:cpu,cpuacct:/a/b\n0::/x\n");
    add_file("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
    add_file("/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
    add_file("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "250000\n");
    add_file("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n");
    add_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "600000\n");
    add_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    add_file("/sys/fs/cgroup/x/cpu.max", "100000 100000\n"); /* not ours */
    assert_int_equal(cgroup_cpus(read_invented), 5);
}

static void test_version_1_without_period(void **state) {
    (void)state;
    add_own_group("3:cpu:/\n");
    add_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
    assert_int_equal(cgroup_cpus(read_invented), 0);
}

/* Start-up is bounded: in levels, and in the length of a path. */
static void test_bounded(void **state) {
    (void)state;
    static char deep[900], text[4095];
    strcpy(deep, "0::");
    for (int i = 0; i < 400; i++)
        strcat(deep, "/a");
    add_own_group(deep);
    add_file("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    assert_int_equal(cgroup_cpus(read_invented), 0); /* not reached */
    assert_in_range(reads, 2, 40);
    memset(text, 'a', sizeof text - 1);
    memcpy(text, "0::/", 4);
    add_own_group(text);
    add_file("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    assert_int_equal(cgroup_cpus(read_invented), 0);
    assert_int_equal(reads, 1);
}

static void test_slashes(void **state) {
    (void)state;
    add_own_group("0::///a//b///\n");
    add_file("/sys/fs/cgroup///a//b/cpu.max", "700000 100000\n");
    add_file("/sys/fs/cgroup/cpu.max", "800000 100000\n");
    assert_int_equal(cgroup_cpus(read_invented), 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_max),
        cmocka_unit_test(test_cfs_quota),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_nothing_to_read),
        cmocka_unit_test(test_smallest_of_all_levels),
        cmocka_unit_test(test_memory_high),
        cmocka_unit_test(test_group_at_the_root),
        cmocka_unit_test(test_one_is_the_end),
        cmocka_unit_test(test_malformed_level_is_passed_over),
        cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_version_1_without_period),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_slashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
