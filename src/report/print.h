/* Printers: a snapshot in, text out.  They hold no lock and allocate nothing. */
#ifndef RUNG_REPORT_PRINT_H
#define RUNG_REPORT_PRINT_H

#include "base/fmt.h"
#include "report/snapshot.h"

/* Enough for any one call below. */
#define PRINT_MAX 16384

/* malloc_info's XML (row E4), in three parts: the opening, a <heap> for each arena, the totals. */
void xml_open(struct text *t);
void xml_arena(struct text *t, const struct arena_snapshot *s);
void xml_close(struct text *t, const struct totals *sum);

/* Everything, for programs; `counts` has COUNTER_COUNT values, `classes` RUN_BINS.  REPORT_MAX is enough
   for either. */
#define REPORT_MAX 65536
void json_report(struct text *t, const struct account *a, const struct class_account *classes,
                 const size_t *counts);
void prometheus_report(struct text *t, const struct account *a, const struct class_account *classes,
                       const size_t *counts);

/* The parts of json_report(): members of an object, each with its name.  A counter that is COUNT_UNKNOWN is
   left out. */
#define COUNT_UNKNOWN SIZE_MAX
void json_memory(struct text *t, const struct account *a);
void json_classes(struct text *t, const struct class_account *classes);
void json_counters(struct text *t, const size_t *counts);

/* malloc_stats: an arena, and the totals. */
void stats_arena(struct text *t, const struct arena_snapshot *s);
void stats_close(struct text *t, const struct totals *sum);

#endif
