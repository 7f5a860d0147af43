#include "probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void put(const char *text, size_t length) {
    while (length > 0) {
        ssize_t written = write(STDOUT_FILENO, text, length);
        if (written <= 0)
            _exit(2);
        text += written;
        length -= (size_t)written;
    }
}

void say(const char *format, ...) {
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length < 0)
        _exit(2);
    if ((size_t)length > sizeof line - 2)
        length = (int)sizeof line - 2;
    line[length] = '\n';
    put(line, (size_t)length + 1);
}

void say_list(const char *key, const long *values, size_t count) {
    char number[32];
    put(key, strlen(key));
    for (size_t i = 0; i < count; i++) {
        int length = snprintf(number, sizeof number, "%c%ld", i == 0 ? '=' : ',', values[i]);
        put(number, (size_t)length);
    }
    put("\n", 1);
}

void say_malloc_info(const char *name) {
    static char buffer[8192];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    say("xml.%s=begin", name);
    malloc_info(0, stdout);
    fflush(stdout);
    say("xml.%s=end", name);
}

void skip(const char *reason) {
    say("skip=%s", reason);
    _exit(77);
}

void fail(const char *reason) {
    say("error=%s", reason);
    _exit(2);
}

void mark(const char *phase) {
    ssize_t ignored = write(MARK_DESCRIPTOR, phase, strlen(phase));
    (void)ignored;
}

uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t processor_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

long minor_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

long argument(int argc, char **argv, int index, long otherwise) {
    return index < argc ? strtol(argv[index], NULL, 0) : otherwise;
}

void no_huge_pages(void) {
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

/* Read a whole /proc file into `buffer`, which ends up as a string. Returns its length, -1 when it cannot be read. */
static ssize_t read_file(const char *path, char *buffer, size_t size) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return -1;
    size_t length = 0;
    for (;;) {
        ssize_t got = read(descriptor, buffer + length, size - 1 - length);
        if (got < 0) {
            close(descriptor);
            return -1;
        }
        if (got == 0)
            break;
        length += (size_t)got;
    }
    close(descriptor);
    buffer[length] = '\0';
    return (ssize_t)length;
}

/* The number after "\nNAME:" in a file of such lines. */
static long field(const char *text, const char *name) {
    const char *found = strstr(text, name);
    return found == NULL ? -1 : strtol(found + strlen(name), NULL, 10);
}

long huge_pages_reserved(void) {
    char text[8192];
    return read_file("/proc/meminfo", text, sizeof text) > 0 ? field(text, "\nHugePages_Total:")
                                                             : 0;
}

struct memory memory_now(void) {
    char text[8192];
    struct memory memory = {-1, -1, -1};
    if (read_file("/proc/self/status", text, sizeof text) > 0) {
        memory.virtual_kib = field(text, "\nVmSize:");
        memory.resident_kib = field(text, "\nVmRSS:");
        memory.anonymous_kib = field(text, "\nRssAnon:");
    }
    /* The kernel keeps the counts in status a processor at a time and adds them up loosely; this file is exact. */
    if (read_file("/proc/self/smaps_rollup", text, sizeof text) > 0) {
        memory.resident_kib = field(text, "\nRss:");
        memory.anonymous_kib = field(text, "\nAnonymous:");
    }
    return memory;
}

void say_memory(const char *prefix) {
    struct memory memory = memory_now();
    say("%s.rss=%ld", prefix, memory.resident_kib);
    say("%s.anon=%ld", prefix, memory.anonymous_kib);
    say("%s.vsz=%ld", prefix, memory.virtual_kib);
}

size_t mappings(struct mapping *out, size_t limit) {
    static char text[256 * 1024];
    size_t count = 0;
    if (read_file("/proc/self/maps", text, sizeof text) < 0)
        fail("/proc/self/maps cannot be read");
    for (char *line = text; *line != '\0' && count < limit;) {
        char *end = strchr(line, '\n');
        if (end == NULL)
            break;
        *end = '\0';
        struct mapping *m = &out[count];
        unsigned long long start = 0, stop = 0, inode = 0;
        int name = 0;
        if (sscanf(line, "%llx-%llx %4s %*x %*x:%*x %llu %n", &start, &stop, m->permissions, &inode,
                   &name) == 4) {
            m->start = (uintptr_t)start;
            m->end = (uintptr_t)stop;
            m->heap = strcmp(line + name, "[heap]") == 0;
            m->anonymous =
                inode == 0 && (line[name] == '\0' || strncmp(line + name, "[anon:", 6) == 0);
            count++;
        }
        line = end + 1;
    }
    return count;
}

/* A thread's stack may begin on such a boundary by chance; but only a sub-heap reaches to the next one, with
 * what it has committed and, behind that, what it has reserved. */
static bool is_subheap(const struct mapping *m, const struct mapping *after) {
    if (!m->anonymous || strcmp(m->permissions, "rw-p") != 0 || m->start % SUBHEAP_SIZE != 0)
        return false;
    uintptr_t boundary = m->start + SUBHEAP_SIZE;
    return m->end >= boundary ||
           (after->start == m->end && after->end >= boundary && after->permissions[0] == '-');
}

size_t subheaps(struct mapping *out, size_t limit) {
    static struct mapping all[4096];
    size_t total = mappings(all, sizeof all / sizeof all[0]), count = 0;
    for (size_t i = 0; i + 1 < total && count < limit; i++)
        if (is_subheap(&all[i], &all[i + 1]))
            out[count++] = all[i];
    return count;
}

/* Another allocator's block may begin where a mapping does: nothing lies in front of it then, and 0 is returned. */
size_t header_of(const void *mem) {
    size_t header = 0;
    struct iovec here = {&header, sizeof header},
                 there = {(void *)((uintptr_t)mem - sizeof header), sizeof header};
    if ((uintptr_t)mem % page_size() < sizeof header &&
        process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0 && errno == EFAULT)
        return 0;
    return *(const volatile size_t *)((uintptr_t)mem - sizeof header);
}

uintptr_t subheap_of(const void *mem) {
    return (header_of(mem) & FLAG_SECONDARY) != 0 ? (uintptr_t)mem & ~(uintptr_t)(SUBHEAP_SIZE - 1)
                                                  : 0;
}

long allocator_counter(const char *name) {
    union {
        void *object;
        size_t (*function)(const char *);
    } counter = {dlsym(RTLD_DEFAULT, "rung_counter")};
    return counter.object == NULL ? -1 : (long)counter.function(name);
}
