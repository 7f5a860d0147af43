#include "rung/rung.h"

#include <string.h>

#include "api/names.h"
#include "arena/arenas.h"
#include "arena/check.h"
#include "arena/mapped_cache.h"
#include "base/fmt.h"
#include "cache/check.h"
#include "life/start.h"
#include "options/options.h"
#include "os/os.h"
#include "report/lookup.h"
#include "report/print.h"
#include "runs/run.h"

EXPORT size_t rung_counter(const char *name) {
    size_t value;
    return counter_lookup(name, &value) ? value : 0;
}

/* struct rung_stats is struct account, in the words of a public header. */
_Static_assert(sizeof(struct rung_stats) == sizeof(struct account), "a figure is missing in rung.h");
#define FIGURE(id, unit, help)                                                                     \
    _Static_assert(offsetof(struct rung_stats, id) == offsetof(struct account, id),                \
                   #id " lies elsewhere in rung.h");
#include "report/figures.def"
#undef FIGURE

EXPORT void rung_stats(struct rung_stats *stats) {
    struct account a;
    struct class_account classes[RUN_BINS];
    snapshot_account(&a, classes);
    memcpy(stats, &a, sizeof a);
}

static size_t report(char *buf, size_t cap,
                     void (*print)(struct text *, const struct account *, const struct class_account *,
                                   const size_t *)) {
    struct account a;
    struct class_account classes[RUN_BINS];
    size_t values[COUNTER_COUNT];
    if (cap == 0)
        return 0;
    snapshot_account(&a, classes);
    for (unsigned i = 0; i < COUNTER_COUNT; i++)
        values[i] = counter_value((enum counter)i);
    struct text t = text_in(buf, cap);
    print(&t, &a, classes, values);
    return t.truncated ? 0 : t.len;
}

EXPORT size_t rung_stats_json(char *buf, size_t cap) {
    return report(buf, cap, json_report);
}

EXPORT size_t rung_stats_prometheus(char *buf, size_t cap) {
    return report(buf, cap, prometheus_report);
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

static void say(const char *what, const char *wrong, const void *where) {
    char buf[256];
    struct text t = text_in(buf, sizeof buf);
    text_add(&t, "rung: %s: %s, at %p\n", what, wrong, where);
    os_write(2, t.buf, t.len);
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
            char name[32];
            struct text t = text_in(name, sizeof name);
            text_add(&t, "arena %u", a->number);
            say(name, wrong, where);
            unsound++;
        }
        a = arena_next(a);
    } while (a != &main_arena);
    const void *where = NULL;
    const char *wrong = runs_check(&where);
    if (wrong != NULL) {
        say("runs", wrong, where);
        unsound++;
    }
    wrong = caches_check(&where);
    if (wrong != NULL) {
        say("the thread's cache", wrong, where);
        unsound++;
    }
    wrong = mapped_cache_check();
    if (wrong != NULL) {
        say("freed mappings", wrong, NULL);
        unsound++;
    }
    return unsound;
}
