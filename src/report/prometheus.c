/* Prometheus' text format, version 0.0.4: a HELP and a TYPE line for each metric, then its samples. */
#include <string.h>

#include "report/lookup.h"
#include "report/print.h"

/* The unit belongs to the name, unless that has it already. */
static const char *unit_of(const char *name, const char *unit) {
    bool bytes = strcmp(unit, "bytes") == 0 && strstr(name, "bytes") == NULL;
    return bytes ? "_bytes" : "";
}

static void add_head(struct text *t, const char *name, const char *suffix, const char *kind, const char *help) {
    text_add(t, "# HELP rung_%s%s %s\n# TYPE rung_%s%s %s\n", name, suffix, help, name, suffix, kind);
}

static void add_sample(struct text *t, const char *name, const char *suffix, const char *kind, const char *help,
                       size_t value) {
    add_head(t, name, suffix, kind, help);
    text_add(t, "rung_%s%s %zu\n", name, suffix, value);
}

static void add_classes(struct text *t, const struct class_account *classes, const char *name, const char *help,
                        size_t field) {
    add_head(t, name, "", "gauge", help);
    for (unsigned bin = 0; bin < RUN_BINS; bin++)
        if (classes[bin].runs != 0)
            text_add(t, "rung_%s{size=\"%zu\"} %zu\n", name, run_bin_size(bin),
                     *(const size_t *)(const void *)((const char *)&classes[bin] + field));
}

static bool is_gauge(const struct counter_info *c) {
    return strncmp(c->help, "gauge", 5) == 0 || strstr(c->name, "_max") != NULL;
}

void prometheus_report(struct text *t, const struct account *a, const struct class_account *classes,
                       const size_t *counts) {
    for (int i = 0; i < FIGURE_COUNT; i++)
        add_sample(t, figures[i].name, unit_of(figures[i].name, figures[i].unit), "gauge", figures[i].help,
                   figure_of(a, i));
    add_classes(t, classes, "class_objects", "objects of a size of runs that are live or cached",
                offsetof(struct class_account, out));
    add_classes(t, classes, "class_pinned_bytes", "free bytes on pages where such an object lies",
                offsetof(struct class_account, pinned));
    /* Some counters are named like a figure. */
    for (int i = 0; i < COUNTER_COUNT; i++) {
        const struct counter_info *c = &counter_infos[i];
        char name[64];
        struct text n = text_in(name, sizeof name);
        text_add(&n, "count_%s", c->name);
        add_sample(t, name, is_gauge(c) ? "" : "_total", is_gauge(c) ? "gauge" : "counter", c->help, counts[i]);
    }
}
