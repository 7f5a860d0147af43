/* Counters by name. */
#ifndef RUNG_REPORT_LOOKUP_H
#define RUNG_REPORT_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>

/* The value of the counter called `name` in base/counters.def; false: there is none. */
bool counter_lookup(const char *name, size_t *value);

#endif
