#include "runs/space.h"

#include "base/counter.h"
#include "guard/assert.h"
#include "options/options.h"
#include "os/os.h"
#include "runs/keep.h"

/* Pages become accessible in these steps. */
#define COMMIT_STEP (1 * MIB)

/* No bin. */
enum { BIN_NONE = 255 };

struct window_record {
    struct run_window *older;
    unsigned used; /* runs ever taken, from the start */
    size_t committed;
};

_Static_assert(sizeof(struct run_window) + sizeof(struct window_record) <= FIRST_RUN * RUN_SIZE,
               "a window's head");

struct lock space_lock = LOCK_INIT(RANK_SPACE);

/* Guarded by space_lock. */
static struct run_window *newest;
static struct link resident_runs = {&resident_runs, &resident_runs}; /* free; newest first */
static struct link purged_runs = {&purged_runs, &purged_runs};
static size_t resident_free; /* bytes */
static size_t in_use;        /* bytes of runs that are not free */
static size_t system_bytes;
static struct keep keep;

static struct window_record *record_of(const struct run_window *w) {
    return (struct window_record *)(w + 1);
}

char *run_start(const struct run *r) {
    struct run_window *w = window_of(r);
    return (char *)w + (size_t)(r - w->run) * RUN_SIZE;
}

struct run *run_of(const void *mem) {
    struct run_window *w = window_of(mem);
    return &w->run[(uintptr_t)mem >> RUN_SHIFT & (RUNS_A_WINDOW - 1)];
}

static struct run *run_of_link(struct link *l) {
    return (struct run *)((char *)l - offsetof(struct run, link));
}

/* ---- windows ---- */

static bool add_window(void) {
    size_t committed = align_up(COMMIT_STEP, os_facts.page);
    struct run_window *w = window_create(WINDOW_RUNS, committed, "rung: runs");
    if (w == NULL)
        return false;
    *record_of(w) =
        (struct window_record){.older = newest, .used = FIRST_RUN, .committed = committed};
    newest = w;
    system_bytes += committed;
    return true;
}

static struct run *take_fresh(void) {
    if (newest == NULL || record_of(newest)->used == RUNS_A_WINDOW) {
        if (!add_window())
            return NULL;
    }
    struct window_record *rec = record_of(newest);
    size_t end = (rec->used + 1) * RUN_SIZE;
    if (end > rec->committed) {
        size_t step = size_min(COMMIT_STEP, WINDOW - rec->committed);
        if (!os_commit((char *)newest + rec->committed, step))
            return NULL;
        rec->committed += step;
        system_bytes += step;
    }
    struct run *r = &newest->run[rec->used++];
    return r;
}

/* ---- free runs ---- */

static bool purge_oldest(uint64_t now) {
    struct run *r = run_of_link(resident_runs.prev);
    list_remove(&r->link);
    bool gone = os_purge(run_start(r), RUN_SIZE);
    r->purged_at = gone ? now : 0;
    list_insert_after(&purged_runs, &r->link);
    resident_free -= RUN_SIZE;
    return gone;
}

/* Whether there is more than the share and the floor (runs/keep.h) alone would allow. */
static bool beyond_share(void) {
    return resident_free > size_max(in_use / 8, option(OPT_RUN_KEEP));
}

static struct run *take_free(void) {
    struct run *r;
    if (!list_empty(&resident_runs)) {
        if (beyond_share())
            keep_confirm(&keep, os_clock_us());
        r = run_of_link(resident_runs.next);
        resident_free -= RUN_SIZE;
    } else if (!list_empty(&purged_runs)) {
        r = run_of_link(purged_runs.next);
        keep_regret(&keep, RUN_SIZE, r->purged_at, os_clock_us());
    } else {
        return NULL;
    }
    list_remove(&r->link);
    return r;
}

struct run *space_take(unsigned bin) {
    if (!lock_take(&space_lock))
        return NULL;
    struct run *r = take_free();
    if (r == NULL)
        r = take_fresh();
    if (r != NULL) {
        in_use += RUN_SIZE;
        struct run_window *w = window_of(r);
        w->bin[r - w->run] = (uint8_t)bin;
        *r = (struct run){.bin = (uint8_t)bin};
    }
    lock_release(&space_lock);
    return r;
}

void space_give(struct run *r) {
    assert_argument(r->out == 0 && !r->listed);
    if (!lock_take(&space_lock))
        return;
    struct run_window *w = window_of(r);
    w->bin[r - w->run] = BIN_NONE;
    in_use -= RUN_SIZE;
    resident_free += RUN_SIZE;
    list_insert_after(&resident_runs, &r->link);
    /* Two at most: a bounded step, and it still catches up. */
    if (beyond_share()) {
        uint64_t now = os_clock_us();
        for (int i = 0; i < 2 && resident_free > keep_limit(&keep, in_use, option(OPT_RUN_KEEP), now);
             i++)
            purge_oldest(now);
    }
    lock_release(&space_lock);
}

bool runs_purge(size_t bytes) {
    bool gave = false;
    if (!lock_take(&space_lock))
        return false;
    uint64_t now = os_clock_us();
    while (resident_free > bytes)
        gave |= purge_oldest(now);
    lock_release(&space_lock);
    return gave;
}

/* ---- for those who look ---- */

struct run_window *space_first_window(void) {
    return newest;
}

struct run_window *space_next_window(const struct run_window *w) {
    return record_of(w)->older;
}

unsigned space_used_runs(const struct run_window *w) {
    return record_of(w)->used;
}

size_t space_resident_free(void) {
    return resident_free;
}

size_t space_system(void) {
    return system_bytes;
}
