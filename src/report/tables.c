/* The rows of the two tables that reports are made of. */
#include "report/account.h"
#include "report/lookup.h"

const struct figure figures[FIGURE_COUNT] = {
#define FIGURE(id, unit, help) {#id, unit, help, offsetof(struct account, id)},
#include "report/figures.def"
#undef FIGURE
};

const struct counter_info counter_infos[COUNTER_COUNT] = {
#define COUNTER(id, name, unit, help) [COUNT_##id] = {name, unit, help},
#include "base/counters.def"
#undef COUNTER
};
