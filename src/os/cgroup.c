#include "os/cgroup.h"

#include <limits.h>
#include <stdint.h>

/* Groups deeper than this are only looked at from the deepest upwards, and paths longer than this not at
   all: what happens at start-up has an end. */
enum { LEVELS_MAX = 32, PATH_CAP = 1024, LIST_CAP = 4096 };

#define VERSION_2 "/sys/fs/cgroup"
#define VERSION_1 "/sys/fs/cgroup/cpu"

/* ---- numbers ---- */

/* SIZE_MAX stands for all that is larger. */
static bool take_number(const char **s, size_t *n) {
    const char *start = *s;
    for (*n = 0; **s >= '0' && **s <= '9'; (*s)++) {
        size_t digit = (size_t)(**s - '0');
        *n = *n > (SIZE_MAX - digit) / 10 ? SIZE_MAX : *n * 10 + digit;
    }
    return *s != start;
}

static bool at_end(const char *s) {
    return *s == '\0' || (*s == '\n' && s[1] == '\0');
}

static unsigned whole_cpus(size_t quota, size_t period) {
    if (quota == 0 || period == 0)
        return 0;
    size_t n = quota / period + (quota % period != 0);
    return n < UINT_MAX ? (unsigned)n : UINT_MAX;
}

unsigned cgroup_cpu_max(const char *text) {
    size_t quota, period;
    if (!take_number(&text, &quota) || *text++ != ' ' || !take_number(&text, &period) || !at_end(text))
        return 0; /* "max 100000" too */
    return whole_cpus(quota, period);
}

unsigned cgroup_cfs_quota(const char *quota, const char *period) {
    size_t q, p;
    if (!take_number(&quota, &q) || !at_end(quota) || !take_number(&period, &p) || !at_end(period))
        return 0; /* "-1" too */
    return whole_cpus(q, p);
}

size_t cgroup_bytes(const char *text) {
    size_t n;
    return take_number(&text, &n) && at_end(text) && n < SIZE_MAX ? n : 0; /* "max" too */
}

/* ---- the group's path ---- */

/* Whether the list "cpu,cpuacct" that ends at ':' names the controller; "" is in the empty list alone. */
static bool lists(const char *list, const char *controller) {
    for (;;) {
        const char *c = controller;
        while (*c != '\0' && *list == *c) {
            list++;
            c++;
        }
        if (*c == '\0' && (*list == ',' || *list == ':'))
            return true;
        while (*list != ',' && *list != ':' && *list != '\n' && *list != '\0')
            list++;
        if (*list != ',')
            return false;
        list++;
    }
}

/* The text behind the next ':' of the line, or NULL. */
static const char *next_field(const char *s) {
    while (*s != ':' && *s != '\n' && *s != '\0')
        s++;
    return *s == ':' ? s + 1 : NULL;
}

/* A group outside of the namespace that the mount shows is written "/../name". */
static bool copy_path(const char *s, char *path, size_t cap) {
    size_t len = 0;
    if (*s != '/')
        return false;
    for (; s[len] != '\n' && s[len] != '\0'; len++) {
        bool leaves = s[len] == '/' && s[len + 1] == '.' && s[len + 2] == '.' &&
                      (s[len + 3] == '/' || s[len + 3] == '\n' || s[len + 3] == '\0');
        if (leaves || len + 1 >= cap)
            return false;
        path[len] = s[len];
    }
    path[len] = '\0';
    return true;
}

bool cgroup_path(const char *text, const char *controller, char *path, size_t cap) {
    while (*text != '\0') {
        const char *list = next_field(text);
        const char *at = list != NULL ? next_field(list) : NULL;
        if (at != NULL && lists(list, controller))
            return copy_path(at, path, cap);
        while (*text != '\n' && *text != '\0')
            text++;
        if (*text == '\n')
            text++;
    }
    return false;
}

/* ---- the walk ---- */

static void join(char *to, const char *a, size_t a_len, const char *b) {
    size_t len = 0;
    for (; len < a_len; len++)
        to[len] = a[len];
    while ((to[len] = *b++) != '\0')
        len++;
}

/* What one group, whose path has `len` characters, limits; 0: nothing. */
typedef size_t limit_of_group(file_reader *read_file, const char *group, size_t len, bool v2);

static size_t quota_of_group(file_reader *read_file, const char *group, size_t len, bool v2) {
    char file[PATH_CAP + 64], quota[64], period[64];
    join(file, group, len, v2 ? "/cpu.max" : "/cpu.cfs_quota_us");
    if (read_file(file, quota, sizeof quota) == 0)
        return 0;
    if (v2)
        return cgroup_cpu_max(quota);
    if (quota[0] == '-')
        return 0;
    join(file, group, len, "/cpu.cfs_period_us");
    return read_file(file, period, sizeof period) > 0 ? cgroup_cfs_quota(quota, period) : 0;
}

static size_t high_of_group(file_reader *read_file, const char *group, size_t len, bool v2) {
    char file[PATH_CAP + 64], text[64];
    (void)v2;
    join(file, group, len, "/memory.high");
    return read_file(file, text, sizeof text) > 0 ? cgroup_bytes(text) : 0;
}

/* The group's path, behind the root of its mount.  NULL: there is none; otherwise where the root ends. */
static char *find_group(file_reader *read_file, const char *controller, char *group, bool *v2) {
    char list[LIST_CAP];
    if (read_file("/proc/self/cgroup", list, sizeof list) == 0)
        return NULL;
    /* The controller is in one hierarchy: in version 1's if that has it. */
    char *below = group + sizeof VERSION_1 - 1;
    *v2 = controller[0] == '\0' || !cgroup_path(list, controller, below, PATH_CAP - sizeof VERSION_1);
    if (*v2) {
        below = group + sizeof VERSION_2 - 1;
        if (!cgroup_path(list, "", below, PATH_CAP - sizeof VERSION_2))
            return NULL;
    }
    const char *root = *v2 ? VERSION_2 : VERSION_1;
    for (size_t i = 0; group + i < below; i++)
        group[i] = root[i];
    return below;
}

/* The smallest limit from the process's own group up to the root of the mount.  A group that is not there, since
   the mount shows only a part of the tree (a container's), has its next visible ancestor at the root. */
static size_t least_of_all(file_reader *read_file, const char *controller, limit_of_group *limit) {
    char group[PATH_CAP];
    bool v2;
    char *below = find_group(read_file, controller, group, &v2);
    if (below == NULL)
        return 0;
    char *end = below;
    while (*end != '\0')
        end++;
    size_t least = 0;
    for (int level = 0; level < LEVELS_MAX && least != 1; level++) {
        while (end > below && end[-1] == '/')
            end--;
        size_t n = limit(read_file, group, (size_t)(end - group), v2);
        if (n != 0 && (least == 0 || n < least))
            least = n;
        if (end == below)
            break;
        while (*--end != '/') {
        }
    }
    return least;
}

unsigned cgroup_cpus(file_reader *read_file) {
    return (unsigned)least_of_all(read_file, "cpu", quota_of_group);
}

size_t cgroup_memory_high(file_reader *read_file) {
    return least_of_all(read_file, "", high_of_group);
}
