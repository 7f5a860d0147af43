/* Where bump puts four blocks, the second of which was freed before the fourth was asked for. */
#define _DEFAULT_SOURCE
#include "../measure.h"
#include "../toy.h"

static char *start;

static void *show(const char *name, size_t size) {
    char *mem = toy_malloc(size);
    char call[32];
    snprintf(call, sizeof call, "%s = malloc(%zu)", name, size);
    printf("%-17s start+%td\n", call, mem - start);
    return mem;
}

int main(void) {
    measure_begin();
    start = sbrk(0);
    show("a", 16);
    void *b = show("b", 1);
    show("c", 100);
    toy_free(b);
    printf("free(b)\n");
    show("d", 1);
    printf("%-17s start+%td\n", "break", (char *)sbrk(0) - start);
    return 0;
}
