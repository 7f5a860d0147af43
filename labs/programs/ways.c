/* The ways of giving memory back, each on 64 MiB that were written before: what is resident and mapped afterwards, and
 * what the next touch of every page does: fault and cost, the old contents, zeroes, or SIGSEGV. No allocator involved. */
#include "probe.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LENGTH (64 * MIB)
#define PATTERN 0x5a

static sigjmp_buf refused;

static void on_fault(int signal) {
    (void)signal;
    siglongjmp(refused, 1);
}

static char *map_and_write(void) {
    char *memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        skip("64 MiB cannot be mapped");
    return memset(memory, PATTERN, LENGTH);
}

/* Read, then write one byte of every page. */
static void say_next_touch(const char *way, volatile char *memory) {
    if (sigsetjmp(refused, 1) != 0) {
        say("%s.reads=SIGSEGV", way);
        return;
    }
    char found = *memory;
    say("%s.reads=%s", way, found == PATTERN ? "old contents" : found == 0 ? "zero" : "garbage");
    size_t pages = LENGTH / page_size();
    long faults = minor_faults();
    uint64_t start = now_ns();
    for (size_t i = 0; i < pages; i++)
        memory[i * page_size() + 1] = 1;
    uint64_t end = now_ns();
    say("%s.faults_per_100_pages=%ld", way, (minor_faults() - faults) * 100 / (long)pages);
    say("%s.touch_ns=%llu", way, (unsigned long long)((end - start) / pages));
}

static void compare(const char *way, char *memory, int (*give_back)(char *)) {
    struct memory before = memory_now();
    if (give_back(memory) != 0)
        fail(way);
    struct memory after = memory_now();
    say("%s.rss_dropped_kib=%ld", way, before.resident_kib - after.resident_kib);
    say("%s.vsz_dropped_kib=%ld", way, before.virtual_kib - after.virtual_kib);
    say_next_touch(way, memory);
}

static int by_munmap(char *memory) {
    return munmap(memory, LENGTH);
}

static int by_break(char *memory) {
    return brk(memory);
}

static int by_dontneed(char *memory) {
    return madvise(memory, LENGTH, MADV_DONTNEED);
}

static int by_free(char *memory) {
    return madvise(memory, LENGTH, MADV_FREE);
}

static int by_remap(char *memory) {
    void *again = mmap(memory, LENGTH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return again == memory ? 0 : -1;
}

int main(void) {
    no_huge_pages();
    struct sigaction action = {.sa_handler = on_fault};
    sigaction(SIGSEGV, &action, NULL);

    compare("munmap", map_and_write(), by_munmap);
    compare("dontneed", map_and_write(), by_dontneed);
    compare("free", map_and_write(), by_free);
    compare("remap", map_and_write(), by_remap);
    /* The break, from a page boundary, so that lowering it gives back whole pages and no more. */
    uintptr_t end = (uintptr_t)sbrk(0);
    sbrk((intptr_t)(page_size() - end % page_size()));
    char *heap = sbrk((intptr_t)LENGTH);
    if (heap == (void *)-1)
        skip("the break cannot be moved by 64 MiB");
    compare("brk", memset(heap, PATTERN, LENGTH), by_break);
    return 0;
}
