// Row D4: a program that moves the break itself, between calls of ours and by odd amounts: its
// memory stays its own, and ours goes on.
#include "check.h"
#include <malloc.h>

enum { FOREIGN = 60, BLOCKS = 400 };

static struct {
    unsigned char *at;
    size_t size;
} foreign[FOREIGN];

static void take(int i, size_t size) {
    void *at = sbrk((intptr_t)size);
    REQUIRE(at != (void *)-1, "sbrk(%zu): errno %d", size, errno);
    foreign[i].at = at;
    foreign[i].size = size;
    memset(at, 0x80 + i, size);
}

static void expect_untouched(int upto, const char *when) {
    for (int i = 0; i <= upto; i++)
        for (size_t k = 0; k < foreign[i].size; k++)
            if (foreign[i].at[k] != (unsigned char)(0x80 + i)) {
                CHECK(false, "%s: byte %zu of the program's area %d was written", when, k, i);
                return;
            }
}

int main(void) {
    require_rung();
    static const size_t odd[] = {4096, 1, 13, 16, 5000, 24, 65536, 3, 100000, 40};
    static void *mem[FOREIGN][BLOCKS];
    for (int i = 0; i < FOREIGN; i++) {
        take(i, odd[(size_t)i % (sizeof odd / sizeof *odd)]);
        for (size_t k = 0; k < BLOCKS; k++) {
            size_t size = (k * 37 + (size_t)i * 11) % 2000;
            mem[i][k] = launder(malloc(size));
            REQUIRE(mem[i][k], "no memory");
            CHECK((uintptr_t)mem[i][k] % 16 == 0, "%p after sbrk by %zu", mem[i][k],
                  foreign[i].size);
            memset(mem[i][k], i, size);
        }
        check_heap("after a foreign sbrk");
    }
    expect_untouched(FOREIGN - 1, "after allocating");
    for (int i = 0; i < FOREIGN; i++)
        for (size_t k = 0; k < BLOCKS; k++) {
            size_t size = (k * 37 + (size_t)i * 11) % 2000;
            for (size_t n = 0; n < size; n++)
                if (((unsigned char *)mem[i][k])[n] != i) {
                    CHECK(false, "block %zu of round %d was overwritten", k, i);
                    break;
                }
            free(mem[i][k]);
        }
    malloc_trim(0);
    expect_untouched(FOREIGN - 1, "after freeing and trimming");
    struct mallinfo2 m = mallinfo2();
    CHECK(m.arena == m.uordblks + m.fordblks, "arena %zu, in use %zu, free %zu", m.arena,
          m.uordblks, m.fordblks);
    check_heap("at the end");
    return check_result();
}
