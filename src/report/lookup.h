/* Counters by name. */
#ifndef RUNG_REPORT_LOOKUP_H
#define RUNG_REPORT_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/counter.h"

/* The rows of base/counters.def. */
struct counter_info {
    const char *name;
    const char *unit;
    const char *help;
};
extern const struct counter_info counter_infos[COUNTER_COUNT];

/* Those of the locks included, which are not kept with the others. */
size_t counter_value(enum counter which);

/* The value of the counter called `name` in base/counters.def; false: there is none. */
bool counter_lookup(const char *name, size_t *value);

#endif
