#include "rung/rung.h"

#include <string.h>

#include "api/names.h"
#include "arena/arenas.h"
#include "arena/check.h"
#include "base/fmt.h"
#include "life/start.h"
#include "options/options.h"
#include "os/os.h"
#include "report/lookup.h"

EXPORT size_t rung_counter(const char *name) {
    size_t value;
    return counter_lookup(name, &value) ? value : 0;
}

EXPORT size_t rung_option(const char *name) {
    start();
    for (unsigned i = 0; i < OPTION_COUNT; i++)
        if (strcmp(option_info((enum option)i)->name, name) == 0)
            return option((enum option)i);
    return 0;
}

EXPORT const char *rung_version(void) {
    return RUNG_VERSION;
}

EXPORT int rung_heap_check(void) {
    int unsound = 0;
    start();
    struct arena *a = &main_arena;
    do {
        const void *where = NULL;
        const char *wrong = NULL;
        if (arena_enter(a)) {
            wrong = arena_check(a, &where);
            arena_leave(a);
        }
        if (wrong != NULL) {
            char buf[256];
            struct text t = text_in(buf, sizeof buf);
            text_add(&t, "rung: arena %u: %s, at %p\n", a->number, wrong, where);
            os_write(2, t.buf, t.len);
            unsound++;
        }
        a = arena_next(a);
    } while (a != &main_arena);
    return unsound;
}
