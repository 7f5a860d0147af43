/* Three levels of assertions; see RUNG_ASSERT in base/compiler.h. */
#ifndef RUNG_GUARD_ASSERT_H
#define RUNG_GUARD_ASSERT_H

#include "guard/fatal.h"

#define ASSERT_LEVEL(level, x)                                                                     \
    ((void)(RUNG_ASSERT < (level) || (x) || (die_internal(#x, __FILE__, __LINE__), 0)))

#define assert_argument(x) ASSERT_LEVEL(1, x)
#define assert_structure(x) ASSERT_LEVEL(2, x)
#define assert_heap(x) ASSERT_LEVEL(3, x)

#endif
