#include "base/counter.h"
#include "report/print.h"

static void add_bytes(struct text *t, size_t system, size_t in_use) {
    text_add(t, "system bytes     = %10zu\n", system);
    text_add(t, "in use bytes     = %10zu\n", in_use);
}

void stats_arena(struct text *t, const struct arena_snapshot *s) {
    text_add(t, "Arena %u:\n", s->number);
    add_bytes(t, s->system, s->system - s->free_bytes);
}

void stats_close(struct text *t, const struct totals *sum) {
    size_t mapped = counter_get(COUNT_MAPPED_BYTES);
    text_add(t, "Total (incl. mmap):\n");
    add_bytes(t, sum->system + mapped, sum->system - sum->free_bytes + mapped);
    text_add(t, "max mmap regions = %10zu\n", counter_get(COUNT_MAPPED_MAX));
    text_add(t, "max mmap bytes   = %10zu\n", counter_get(COUNT_MAPPED_BYTES_MAX));
}
