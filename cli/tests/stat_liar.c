/* A process that claims to run on Rung. "version": a later one, which is all there is to see. Otherwise a
   number: from there on everything the view leads to is nonsense, made of it. Prints a line and waits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/view.h"

enum { REGION = 192 << 20 };

/* Under the view's name, but not constant. */
extern struct rung_view lie __asm__(VIEW_NAME);
struct rung_view lie;

static uint64_t next(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 20;
}

/* Pointers that lead somewhere, also round in circles, and numbers of all sizes. */
static uint64_t word(uint64_t *seed, char *region) {
    switch (next(seed) % 8) {
    case 0:
        return 0;
    case 1:
        return next(seed);
    case 2:
        return next(seed) % 4096;
    case 3:
        return ~(uint64_t)0 >> next(seed) % 64;
    case 4:
        return ((uintptr_t)region + WINDOW - 1) & ~(WINDOW - 1);
    default:
        return (uintptr_t)region + next(seed) % (64 * 1024) * 16;
    }
}

int main(int argc, char **argv) {
    static const uint32_t layout[] = VIEW_LAYOUT_NUMBERS;
    struct rung_view v = {.magic = VIEW_MAGIC, .view_bytes = sizeof v};
    memcpy(v.layout, layout, sizeof layout);
    if (argc < 2)
        return 2;
    if (strcmp(argv[1], "version") == 0) {
        strcpy(v.version, "99.1");
    } else {
        static struct os_facts facts = {.page = 4096};
        uint64_t seed = strtoull(argv[1], NULL, 0);
        char *region = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (region == MAP_FAILED)
            return 2;
        char *window = (char *)(((uintptr_t)region + WINDOW - 1) & ~(WINDOW - 1));
        for (size_t i = 0; i < MIB / 8; i++) {
            ((uint64_t *)region)[i] = word(&seed, region);
            ((uint64_t *)window)[i] = word(&seed, region);
        }
        strcpy(v.version, RUNG_VERSION);
        for (const void **p = &v.started; p <= &v.profile; p++)
            *p = region + next(&seed) % 1024 * 64;
        v.facts = &facts;
    }
    lie = v;
    puts("ready");
    fflush(stdout);
    char line[8];
    return read(STDIN_FILENO, line, sizeof line) < 0;
}
