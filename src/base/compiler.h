/* What the compilers understand and C11 has no word for.  gcc and clang only. */
#ifndef RUNG_BASE_COMPILER_H
#define RUNG_BASE_COMPILER_H

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A function on the path every call takes: inlined, no matter what the optimiser thinks. */
#define HOT inline __attribute__((always_inline))

/* A function behind a rare branch: kept out of line, so that the caller's frame stays empty. */
#define COLD __attribute__((noinline, cold))

/* The exit of a hot function: out of line, but not rare enough to be placed among the cold code. */
#define SLOW __attribute__((noinline))

/* A function with everything it calls compiled into it, save what is COLD or SLOW: for the two ways
   down the ladder, where calls would be a sixth of the instructions. */
#define WHOLE __attribute__((flatten))

/* For variables that the hot path reads: known to lie in the library, and so read without a detour. */
#define HIDDEN __attribute__((visibility("hidden")))

#define EXPORT __attribute__((visibility("default")))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* Initial-exec: one load for an address of thread-local storage, no call into the loader.  It uses
   the small reserve of static TLS that the loader keeps for libraries opened at run time, so the
   sum over the library stays at or below 64 bytes (checked in base/self.h). */
#define TLS_INITIAL_EXEC __attribute__((tls_model("initial-exec")))

/* Tests of values that a correct caller cannot get wrong.  Levels: 1 arguments of internal
   functions, 2 one structure's own invariants, 3 a walk over a whole arena.  RUNG_ASSERT chooses
   the highest level that is compiled to code; above it the expression is only type-checked. */
#ifndef RUNG_ASSERT
#define RUNG_ASSERT 0
#endif

#endif
