/* What is read from the kernel once, at start-up, so that a sandbox that later forbids opening
   files changes nothing. */
#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>

#include "base/bits.h"
#include "base/counter.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/syscall.h"

struct os_facts os_facts = {.page = 4096, .cpus = 1, .usable_cpus = 1};

/* Reads up to cap - 1 bytes and terminates them; 0 when the file cannot be read. */
static size_t read_file(const char *path, char *buf, size_t cap) {
    counter_add(COUNT_SYS_OTHER, 1);
    size_t len = 0;
    long fd = syscall4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
    if (!is_error(fd)) {
        long n;
        while (len + 1 < cap &&
               (n = syscall4(SYS_read, fd, (long)(buf + len), (long)(cap - 1 - len), 0)) > 0)
            len += (size_t)n;
        (void)syscall4(SYS_close, fd, 0, 0, 0);
    }
    buf[len] = '\0';
    return len;
}

static size_t read_number(const char **s) {
    size_t n = 0;
    for (; **s >= '0' && **s <= '9'; (*s)++)
        n = n * 10 + (size_t)(**s - '0');
    return n;
}

/* The kernel's list format: "0-3,8,10-11". */
static unsigned count_listed_cpus(const char *s) {
    size_t count = 0;
    while (*s >= '0' && *s <= '9') {
        size_t first = read_number(&s);
        size_t last = first;
        if (*s == '-') {
            s++;
            last = read_number(&s);
        }
        count += last >= first ? last - first + 1 : 0;
        if (*s != ',')
            break;
        s++;
    }
    return (unsigned)count;
}

static unsigned count_allowed_cpus(void) {
    unsigned long set[128] = {0};
    long bytes = syscall4(SYS_sched_getaffinity, 0, sizeof set, (long)set, 0);
    unsigned count = 0;
    for (long i = 0; i < bytes / (long)sizeof set[0]; i++)
        count += (unsigned)__builtin_popcountl(set[i]);
    return count;
}

/* Row C2 counts the CPUs that are online, as the documents' system does, not those this process
   may use. */
static unsigned count_cpus(void) {
    char list[256];
    unsigned online = 0;
    if (read_file("/sys/devices/system/cpu/online", list, sizeof list) > 0)
        online = count_listed_cpus(list);
    if (online == 0)
        online = count_allowed_cpus();
    return online > 0 ? online : 1;
}

void os_read_facts(void) {
    clock_find();
    char text[16];
    size_t page = getauxval(AT_PAGESZ);
    os_facts.page = page != 0 ? page : 4096;
    os_facts.secure = getauxval(AT_SECURE) != 0;
    os_facts.cpus = count_cpus();
    os_facts.strict_commit =
        read_file("/proc/sys/vm/overcommit_memory", text, sizeof text) > 0 && text[0] == '2';
}

/* The text behind the first occurrence of word, or NULL. */
static const char *after(const char *text, const char *word) {
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (word[i] != '\0' && text[i] == word[i])
            i++;
        if (word[i] == '\0')
            return text + i;
    }
    return NULL;
}

void os_read_huge_page_facts(void) {
    char text[4096];
    if (read_file("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text) > 0)
        os_facts.thp_on_request = after(text, "[always]") != NULL || after(text, "[madvise]") != NULL;
    if (read_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", text, sizeof text) > 0) {
        const char *s = text;
        os_facts.thp = read_number(&s);
    }
    if (read_file("/proc/meminfo", text, sizeof text) > 0) {
        const char *s = after(text, "Hugepagesize:");
        while (s != NULL && *s == ' ')
            s++;
        if (s != NULL)
            os_facts.hugetlb = read_number(&s) * KIB;
    }
}

void os_read_usable_cpus(void) {
    unsigned usable = count_allowed_cpus();
    if (usable == 0)
        usable = os_facts.cpus;
    unsigned granted = usable > 1 ? cgroup_cpus(read_file) : 0;
    os_facts.usable_cpus = granted != 0 && granted < usable ? granted : usable;
}

size_t os_read_memory_high(void) {
    return cgroup_memory_high(read_file);
}

size_t os_initial_environment(char *buf, size_t cap) {
    return read_file("/proc/self/environ", buf, cap);
}
