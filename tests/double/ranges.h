/* A record of address ranges and the state they are in. */
#ifndef RUNG_TESTS_RANGES_H
#define RUNG_TESTS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum range_state { RANGE_NONE, RANGE_RESERVED, RANGE_ACCESSIBLE };

struct range {
    uintptr_t from, to;
    enum range_state state;
    bool refused; /* to be unmapped */
};

/* Whatever the range was before: from now on it is this.  RANGE_NONE forgets it. */
void ranges_set(uintptr_t from, uintptr_t to, enum range_state state);

/* Marks what is recorded of the range as refused. */
void ranges_refuse(uintptr_t from, uintptr_t to);

/* Whether all of it has this state. */
bool ranges_all(uintptr_t from, uintptr_t to, enum range_state state);

/* Whether nothing of it is recorded. */
bool ranges_free(uintptr_t from, uintptr_t to);

/* Whether all of it is recorded, in either state. */
bool ranges_known(uintptr_t from, uintptr_t to);

size_t ranges_bytes(enum range_state state);
size_t ranges_refused_bytes(void);

/* How many there are; neighbours of one kind are one. */
size_t ranges_count(void);

#endif
