/* The options: their values, who set them, and the table that says what there is.
 *
 * Values may be read by any thread at any time; they are single words.  They are written at
 * start-up, by mallopt, and (the two thresholds) by the adaptation in threshold.h. */
#ifndef RUNG_OPTIONS_OPTIONS_H
#define RUNG_OPTIONS_OPTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum option {
#define OPTION(id, ...) OPT_##id,
#include "options/options.def"
#undef OPTION
    OPTION_COUNT
};

enum option_type { TYPE_BOOL, TYPE_COUNT, TYPE_BYTES };

/* A profile is a value for every option. */
enum profile { PROFILE_GLIBC, PROFILE_DEFAULT, PROFILE_COUNT };

extern const char *const profile_name[PROFILE_COUNT];

/* Who gave an option the value it has, in rising precedence. */
enum option_origin {
    ORIGIN_PROFILE,
    ORIGIN_HUGETLB, /* a consequence of option hugetlb */
    ORIGIN_ALIAS,   /* an environment variable of its own */
    ORIGIN_TUNABLES,
    ORIGIN_RUNG_OPTIONS,
    ORIGIN_MALLOPT,
};

/* mallopt's parameters; the numbers are part of the interface. */
enum mallopt_parameter {
    MALLOPT_NONE = 0,
    MALLOPT_MXFAST = 1,
    MALLOPT_TRIM_THRESHOLD = -1,
    MALLOPT_TOP_PAD = -2,
    MALLOPT_MMAP_THRESHOLD = -3,
    MALLOPT_MMAP_MAX = -4,
    MALLOPT_CHECK_ACTION = -5,
    MALLOPT_PERTURB = -6,
    MALLOPT_ARENA_TEST = -7,
    MALLOPT_ARENA_MAX = -8,
};

/* A row of options.def. */
struct option_info {
    const char *name;
    enum option_type type;
    size_t profile[PROFILE_COUNT];
    size_t min, max;
    const char *alias; /* or NULL */
    enum mallopt_parameter mallopt;
    const char *mallopt_name; /* behind "M_" */
    const char *tunable;      /* or NULL */
    const char *what, *why;
};

/* Statically initialised with the profile `glibc`: a malloc that comes before the environment was
   read works with those. */
extern _Atomic size_t option_values[OPTION_COUNT] HIDDEN;

static HOT size_t option(enum option which) {
    return atomic_load_explicit(&option_values[which], memory_order_relaxed);
}

/* Sets a value without a check, an origin or a side effect. */
static inline void option_store(enum option which, size_t value) {
    atomic_store_explicit(&option_values[which], value, memory_order_relaxed);
}

/* The setter that environment and mallopt share.  Outside the option's range: false, and nothing
   has changed.  Setting one of the four options that steer the thresholds ends their adaptation. */
bool option_set(enum option which, size_t value, enum option_origin origin);

enum option_origin option_origin(enum option which);

/* What option_origin() and option_profile() tell.  Written here alone, the second at start-up only; and by
   `rung stat`, which puts the options of another process in the place of its own. */
extern _Atomic unsigned char option_origins[OPTION_COUNT];
extern enum profile option_profile_in_use;

/* Starts over: every option has the profile's value, and the thresholds adapt. */
void option_use_profile(enum profile profile);

/* The one it started from, and an option's value in it. */
enum profile option_profile(void);
size_t option_start(enum option which);

/* mallopt, as glibc 2.43 has it: 1 in all cases, for an unknown parameter too. */
int options_mallopt(int parameter, int value);

const struct option_info *option_info(enum option which);

/* The size of the MAP_HUGETLB pages that option hugetlb asks for; 0 when it asks for none, or for a
   size that no page can have.  Needs os_facts. */
size_t option_huge_page(void);

/* Why the option, as things stand in this process, changes nothing whatever its value; NULL when
   it is effective.  Needs os_facts, with those about huge pages when hugetlb is set. */
const char *option_no_effect(enum option which);

#endif
