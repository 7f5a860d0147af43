// FIELD 18: where the kernel makes huge pages by itself, a burst and holes give their memory back all the same.
//
// Only the administrator can set transparent_hugepage/enabled to `always`. What that does, a process can do to
// itself where it is `madvise`: it asks for huge pages in each window of the library's as soon as it has a block
// there.
#include "check.h"
#include <malloc.h>
#include <sys/mman.h>
#include <time.h>

#define WINDOW ((uintptr_t)64 << 20)

enum { BLOCKS = 300000, WINDOWS = 64 };
static char *blocks[BLOCKS];
static char *windows[WINDOWS];
static size_t window_count;
static uint64_t random_state;

static void require_huge_pages(void) {
    char text[64] = "";
    int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0 || strstr(text, "[never]"))
        SKIP("this kernel makes no transparent huge pages (/sys/kernel/mm/transparent_hugepage/enabled)");
    close(fd);
}

// As in every mapping of a process under `always`.
static void wish_huge(char *mem) {
    char *window = mem - (uintptr_t)mem % WINDOW;
    for (size_t i = window_count; i-- > 0;)
        if (windows[i] == window)
            return;
    REQUIRE(window_count < WINDOWS, "more than %d windows", WINDOWS);
    windows[window_count++] = window;
    REQUIRE(madvise(window, WINDOW, MADV_HUGEPAGE) == 0, "madvise(MADV_HUGEPAGE): errno %d", errno);
}

static char *filled(size_t size) {
    char *mem = malloc(size);
    REQUIRE(mem, "no memory");
    wish_huge(mem);
    return memset(mem, 0x5a, size);
}

static long rollup_kib(const char *name) {
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kib = -1;
    size_t len = strlen(name);
    REQUIRE(f, "cannot open /proc/self/smaps_rollup: mount /proc");
    while (fgets(line, sizeof line, f))
        if (strncmp(line, name, len) == 0 && line[len] == ':')
            kib = strtol(line + len + 1, NULL, 10);
    fclose(f);
    return kib;
}

static void allocate(bool holes) {
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = filled(holes ? (size_t)512 << next_random(&random_state) % 3
                                 : 100 + next_random(&random_state) % 1900);
}

int main(int argc, char **argv) {
    require_rung();
    require_huge_pages();
    REQUIRE(argc == 2, "usage: huge_always burst|holes");
    bool holes = strcmp(argv[1], "holes") == 0;
    random_state = seed_from_environment((uint64_t)time(NULL));
    memset(blocks, 1, sizeof blocks);
    long before = status_kib("VmRSS");
    allocate(holes);
    long peak = status_kib("VmRSS") - before, huge = rollup_kib("AnonHugePages");
    for (int i = 0; i + 1 < BLOCKS; i++)
        if (!holes || next_random(&random_state) % 20 != 0)
            free(blocks[i]);
    long left = status_kib("VmRSS") - before;
    malloc_trim(0);
    long trimmed = status_kib("VmRSS") - before;
    say("%s: %ld MiB at the peak, %ld of them huge; %.3f left, %.3f after malloc_trim", argv[1], peak >> 10,
        huge >> 10, (double)left / (double)peak, (double)trimmed / (double)peak);
    CHECK(left < peak * (holes ? 30 : 20) / 100, "%ld of %ld KiB are left", left, peak);
    CHECK(trimmed < peak * (holes ? 25 : 10) / 100, "%ld of %ld KiB are left after malloc_trim", trimmed, peak);
    check_heap("at the end");
    return check_result();
}
