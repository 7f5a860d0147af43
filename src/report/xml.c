/* The schema is glibc 2.43's: version 1, no <total type="fast">, sub-heap counts for secondary arenas
   only. */
#include "base/counter.h"
#include "report/print.h"

void xml_open(struct text *t) {
    text_add(t, "<malloc version=\"1\">\n");
}

static void add_system(struct text *t, size_t now, size_t max, size_t total, size_t committed) {
    text_add(t, "<system type=\"current\" size=\"%zu\"/>\n", now);
    text_add(t, "<system type=\"max\" size=\"%zu\"/>\n", max);
    text_add(t, "<aspace type=\"total\" size=\"%zu\"/>\n", total);
    text_add(t, "<aspace type=\"mprotect\" size=\"%zu\"/>\n", committed);
}

static void add_bin(struct text *t, const char *element, const struct bin_summary *b) {
    if (b->count != 0)
        text_add(t, "<%s from=\"%zu\" to=\"%zu\" total=\"%zu\" count=\"%zu\"/>\n", element,
                 b->smallest, b->largest, b->bytes, b->count);
}

void xml_arena(struct text *t, const struct arena_snapshot *s) {
    text_add(t, "<heap nr=\"%u\">\n<sizes>\n", s->number);
    for (unsigned i = BIN_FIRST_SMALL; i < BIN_COUNT; i++)
        add_bin(t, "size", &s->bin[i]);
    add_bin(t, "unsorted", &s->bin[BIN_UNSORTED]);
    text_add(t, "</sizes>\n<total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n", s->free_chunks,
             s->free_bytes);
    add_system(t, s->system, s->system_max, s->address_space, s->committed);
    if (!s->main)
        text_add(t, "<aspace type=\"subheaps\" size=\"%zu\"/>\n", s->heaps);
    text_add(t, "</heap>\n");
}

void xml_close(struct text *t, const struct totals *sum) {
    text_add(t, "<total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n", sum->free_chunks,
             sum->free_bytes);
    text_add(t, "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n",
             counter_get(COUNT_MAPPED_NOW), counter_get(COUNT_MAPPED_BYTES));
    add_system(t, sum->system, sum->system_max, sum->address_space, sum->committed);
    text_add(t, "</malloc>\n");
}
