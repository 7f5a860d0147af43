/* What goes back to the kernel when: 1 MiB, a 16-byte block above it, and both freed in the order
 * that is worst for an allocator that can only give back the top. Built with toy 3 and toy 4. */
#define _DEFAULT_SOURCE
#include "../measure.h"
#include "../toy.h"

static char *start;

static void show(const char *calls) {
    printf("%-28s start+%-4td KiB  %6ld KiB\n", calls, ((char *)sbrk(0) - start) / 1024,
           anonymous_rss_kib());
}

int main(void) {
    measure_begin();
    start = sbrk(0);
    size_t size = 1024 * 1024;
    printf("%-28s %-14s %s\n", "", "break", "anonymous RSS");
    char *large = toy_malloc(size);
    char *small = toy_malloc(16);
    for (size_t i = 0; i < size; i += 4096)
        large[i] = 1;
    show("malloc(1 MiB), malloc(16)");
    toy_free(large);
    show("free(1 MiB)");
    toy_free(small);
    show("free(16)");
    return 0;
}
