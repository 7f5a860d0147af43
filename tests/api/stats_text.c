// rung_stats_json() and rung_stats_prometheus(), written to standard output one after the other;
// stats_text.py judges them. Neither allocates.
#include "check.h"
#include <malloc.h>

#include "rung/rung.h"

typedef size_t text_of(char *, size_t);

static void show(const char *name) {
    static char text[RUNG_STATS_TEXT];
    text_of *f;
    void *found = dlsym(RTLD_DEFAULT, name);
    REQUIRE(found, "there is no %s", name);
    memcpy(&f, &found, sizeof f);
    struct mallinfo2 before = mallinfo2();
    size_t n = f(text, sizeof text);
    struct mallinfo2 after = mallinfo2();
    CHECK(n == strlen(text) && n > 0, "%s says %zu, and wrote %zu", name, n, strlen(text));
    CHECK(before.uordblks == after.uordblks && before.arena == after.arena, "%s allocates", name);
    REQUIRE(write(STDOUT_FILENO, text, n) == (ssize_t)n, "standard output: %s", strerror(errno));
    CHECK(f(text, n) == 0, "%s fits into one byte less than it needs", name);
}

int main(void) {
    require_rung();
    void *keep[100];
    for (size_t i = 0; i < 100; i++)
        keep[i] = malloc(100);
    void *large = malloc(opaque((size_t)100 << 20));
    show("rung_stats_json");
    show("rung_stats_prometheus");
    for (size_t i = 0; i < 100; i++)
        free(keep[i]);
    free(large);
    return check_result();
}
