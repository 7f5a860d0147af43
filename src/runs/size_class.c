#include "runs/size_class.h"

#define RECIPROCAL(size) (uint32_t)((((uint64_t)1 << 32) + (size) - 1) / (size))

/* Eight bins from number n on. */
#define EIGHT(n)                                                                                   \
    RECIPROCAL(16 * (n + 1)), RECIPROCAL(16 * (n + 2)), RECIPROCAL(16 * (n + 3)),                  \
        RECIPROCAL(16 * (n + 4)), RECIPROCAL(16 * (n + 5)), RECIPROCAL(16 * (n + 6)),              \
        RECIPROCAL(16 * (n + 7)), RECIPROCAL(16 * (n + 8))

/* The eight bins up to twice `half`. */
#define DOUBLING(half)                                                                             \
    RECIPROCAL(half / 8 * 9), RECIPROCAL(half / 8 * 10), RECIPROCAL(half / 8 * 11),                \
        RECIPROCAL(half / 8 * 12), RECIPROCAL(half / 8 * 13), RECIPROCAL(half / 8 * 14),           \
        RECIPROCAL(half / 8 * 15), RECIPROCAL(half * 2)

const uint32_t run_reciprocals[RUN_BINS] = {
    EIGHT(0),       EIGHT(8),       EIGHT(16),      EIGHT(24),      EIGHT(32),
    EIGHT(40),      EIGHT(48),      EIGHT(56),      DOUBLING(1024), DOUBLING(2048),
    DOUBLING(4096), DOUBLING(8192), DOUBLING(16384)};
