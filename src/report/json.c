#include "report/lookup.h"
#include "report/print.h"

static void add_member(struct text *t, bool first, const char *name, size_t value) {
    text_add(t, "%s\n    \"%s\": %zu", first ? "" : ",", name, value);
}

void json_memory(struct text *t, const struct account *a) {
    text_add(t, "  \"memory\": {");
    for (int i = 0; i < FIGURE_COUNT; i++)
        add_member(t, i == 0, figures[i].name, figure_of(a, i));
    text_add(t, "\n  }");
}

void json_classes(struct text *t, const struct class_account *classes) {
    const char *between = "";
    text_add(t, "  \"classes\": [");
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        const struct class_account *c = &classes[bin];
        if (c->runs == 0)
            continue;
        text_add(t,
                 "%s\n    {\"size\": %zu, \"runs\": %zu, \"live\": %zu, \"cached\": %zu, \"free\": %zu, "
                 "\"pinned_bytes\": %zu, \"free_page_bytes\": %zu}",
                 between, run_bin_size(bin), c->runs, c->out - size_min(c->cached, c->out), c->cached, c->free,
                 c->pinned, c->free_pages);
        between = ",";
    }
    text_add(t, "\n  ]");
}

void json_counters(struct text *t, const size_t *counts) {
    bool first = true;
    text_add(t, "  \"counters\": {");
    for (int i = 0; i < COUNTER_COUNT; i++) {
        if (counts[i] == COUNT_UNKNOWN)
            continue;
        add_member(t, first, counter_infos[i].name, counts[i]);
        first = false;
    }
    text_add(t, "\n  }");
}

void json_report(struct text *t, const struct account *a, const struct class_account *classes,
                 const size_t *counts) {
    text_add(t, "{\n  \"version\": \"%s\",\n", RUNG_VERSION);
    json_memory(t, a);
    text_add(t, ",\n");
    json_classes(t, classes);
    text_add(t, ",\n");
    json_counters(t, counts);
    text_add(t, "\n}\n");
}
