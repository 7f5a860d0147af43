/* What the kernel says of pages: mincore, and /proc/PID/pagemap. */
#include <fcntl.h>
#include <sys/auxv.h>

#include "base/counter.h"
#include "base/fmt.h"
#include "os/os.h"
#include "os/syscall.h"

size_t os_page_map_unit(void) {
    size_t page = getauxval(AT_PAGESZ);
    return page != 0 ? page : 4096;
}

int os_open_page_map(int pid) {
    char path[40];
    struct text t = text_in(path, sizeof path);
    if (pid == 0)
        text_add(&t, "/proc/self/pagemap");
    else
        text_add(&t, "/proc/%d/pagemap", pid);
    counter_add(COUNT_SYS_OTHER, 1);
    long fd = syscall4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
    return is_error(fd) ? -1 : (int)fd;
}

size_t os_read_page_map(int map, uintptr_t first, uint64_t *entries, size_t n) {
    counter_add(COUNT_SYS_OTHER, 1);
    long got = syscall4(SYS_pread64, map, (long)entries, (long)(n * sizeof *entries),
                        (long)(first * sizeof *entries));
    return got > 0 ? (size_t)got / sizeof *entries : 0;
}

void os_close_page_map(int map) {
    counter_add(COUNT_SYS_OTHER, 1);
    (void)syscall4(SYS_close, map, 0, 0, 0);
}

size_t os_resident(const void *start, size_t len) {
    enum { AT_A_TIME = 512 };
    unsigned char there[AT_A_TIME];
    size_t unit = os_page_map_unit();
    size_t bytes = 0;
    for (size_t at = 0; at < len; at += AT_A_TIME * unit) {
        size_t part = len - at < AT_A_TIME * unit ? len - at : AT_A_TIME * unit;
        counter_add(COUNT_SYS_OTHER, 1);
        if (is_error(syscall4(SYS_mincore, (long)start + (long)at, (long)part, (long)there, 0)))
            return 0;
        for (size_t i = 0; i < part / unit; i++)
            bytes += (there[i] & 1) != 0 ? unit : 0;
    }
    return bytes;
}
