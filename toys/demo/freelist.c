/* The free list after each of eight calls. A chunk is shown as [offset, size], counted from the
 * start of the heap and with its header. */
#define _DEFAULT_SOURCE
#include "../measure.h"
#include "../toy.h"

static char *start;

static void print_free_chunk(const void *chunk, size_t size) {
    printf(" [%td, %zu]", (const char *)chunk - start, size);
}

static void print_line(const char *call, const char *chunk) {
    printf("%-16s %-10s  free:", call, chunk);
    toy_each_free(print_free_chunk);
    printf("\n");
}

static void *show_malloc(char name, size_t size) {
    char *mem = toy_malloc(size);
    const size_t *header = (const size_t *)(mem - 16);
    char call[32], chunk[64];
    snprintf(call, sizeof call, "%c = malloc(%zu)", name, size);
    snprintf(chunk, sizeof chunk, "[%td, %zu]", (const char *)header - start, *header);
    print_line(call, chunk);
    return mem;
}

static void show_free(char name, void *mem) {
    char call[32];
    snprintf(call, sizeof call, "free(%c)", name);
    toy_free(mem);
    print_line(call, "");
}

int main(void) {
    measure_begin();
    start = sbrk(0);
    void *a = show_malloc('a', 100);
    void *b = show_malloc('b', 200);
    void *c = show_malloc('c', 100);
    show_free('a', a);
    show_free('b', b);
    void *d = show_malloc('d', 50);
    show_free('c', c);
    show_free('d', d);
    return 0;
}
