/* An account of another process, from copies of its structures. */
#ifndef RUNG_CLI_INSPECT_H
#define RUNG_CLI_INSPECT_H

#include "report/account.h"
#include "target.h"

enum { CELLS = 64 };

/* A window of 64 MiB. */
struct window_view {
    uintptr_t start;
    enum { OF_SMALL, OF_LARGE, OF_ARENA } kind;
    unsigned arena;
    struct account account;  /* of runs: its part of the whole */
    size_t resident;
    char picture[CELLS + 1]; /* a sign a MiB; inspect.c says which */
};

struct arena_view {
    unsigned number, threads;
    size_t system, free_bytes, resident_free, pinned;
    bool left_out; /* it made no sense */
};

struct inspection {
    struct account account;
    struct class_account classes[RUN_BINS];
    size_t counts[COUNTER_COUNT];
    struct window_view *windows;
    size_t window_count;
    struct arena_view *arenas;
    size_t arena_count;
    size_t rss, private_dirty, swap; /* of the whole process, by the kernel */
    bool in_motion; /* the process was at work: the figures are from different moments */
    bool damaged;   /* some of what was read makes no sense: counted roughly, or left out */
};

/* Of t, whose options it puts in the place of our own (options/options.h).  False: the process has
   ended, or there is no memory; nothing is left to be freed. */
bool inspect(const struct target *t, struct inspection *i);

void inspection_free(struct inspection *i);

#endif
