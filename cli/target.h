/* A running process that has Rung for its malloc: found, and read from, without touching it. */
#ifndef RUNG_CLI_TARGET_H
#define RUNG_CLI_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command.h"
#include "report/view.h"

struct target {
    int pid;
    char command[64];        /* its name, as /proc/PID/comm has it */
    char library[PATH_MAX];  /* what Rung was loaded from */
    struct rung_view view;
};

/* False: after a complaint that says what to do. */
bool target_open(const struct command *from, struct target *t, int pid);

/* Copies len bytes; false: they are not there, or the process is not. */
bool target_read(const struct target *t, const void *from, void *to, size_t len);

/* Also while somebody has still to take note of it. */
bool target_has_ended(const struct target *t);

/* Its address space; at least 1. */
size_t target_bytes(const struct target *t);

/* Nanoseconds that its threads have had a processor.  *running: one has right now, or waits for one. */
uint64_t target_ran(const struct target *t, bool *running);

#endif
