#include "base/counter.h"

_Atomic size_t counters[COUNTER_COUNT];
