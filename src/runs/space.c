#include "runs/space.h"

#include "base/counter.h"
#include "guard/assert.h"
#include "options/options.h"
#include "os/os.h"
#include "runs/keep.h"

/* Pages become accessible in these steps: small ones at first; once there is much, whole huge pages'
   worth, for which huge pages are asked for, since such a step is about to be filled. */
#define COMMIT_STEP (1 * MIB)
#define GROUP (2 * MIB)

/* No bin. */
enum { BIN_NONE = 255 };

enum { RUNS_A_GROUP = GROUP / RUN_SIZE, GROUPS = WINDOW / GROUP };

/* The runs that one huge page would hold.  A huge page that is given back in pieces is one no more,
   so a group that has one goes back whole, when none of its runs is in use. */
struct group {
    uint8_t in_use; /* runs */
    bool huge;
};

struct window_record {
    struct run_window *older;
    unsigned used; /* runs ever taken, from the start */
    size_t committed;
    struct group group[GROUPS];
};

_Static_assert(sizeof(struct run_window) + sizeof(struct window_record) <= FIRST_RUN * RUN_SIZE,
               "a window's head");

struct lock space_lock = LOCK_INIT(RANK_SPACE);

/* Guarded by space_lock. */
static struct run_window *newest;
static struct link resident_runs = {&resident_runs, &resident_runs}; /* free; newest first */
static struct link huge_runs = {&huge_runs, &huge_runs};             /* the same, in huge groups */
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

static struct group *group_of(const struct run *r) {
    const struct run_window *w = window_of(r);
    return &record_of(w)->group[(size_t)(r - w->run) / RUNS_A_GROUP];
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

/* Makes more of the newest window accessible. */
static bool commit_more(struct window_record *rec) {
    size_t huge_from = option(OPT_RUN_HUGE_FROM);
    bool huge = huge_from != 0 && system_bytes >= huge_from && is_aligned(rec->committed, GROUP);
    size_t step = size_min(huge ? GROUP : COMMIT_STEP, WINDOW - rec->committed);
    char *from = (char *)newest + rec->committed;
    if (!os_commit(from, step))
        return false;
    if (huge)
        rec->group[rec->committed / GROUP].huge = os_advise_huge(from, step);
    rec->committed += step;
    system_bytes += step;
    return true;
}

static struct run *take_fresh(void) {
    if (newest == NULL || record_of(newest)->used == RUNS_A_WINDOW) {
        if (!add_window())
            return NULL;
    }
    struct window_record *rec = record_of(newest);
    if ((rec->used + 1) * RUN_SIZE > rec->committed && !commit_more(rec))
        return NULL;
    return &newest->run[rec->used++];
}

/* ---- free runs ---- */

/* `runs` neighbours, all free. */
static bool purge_range(struct run *first, unsigned runs, uint64_t now) {
    bool gone = os_purge(run_start(first), runs * RUN_SIZE);
    for (struct run *r = first; r < first + runs; r++) {
        if (!r->resident)
            continue;
        r->resident = false;
        r->purged_at = gone ? now : 0;
        resident_free -= RUN_SIZE;
        list_remove(&r->link);
        list_insert_after(&purged_runs, &r->link);
    }
    return gone;
}

static bool purge_oldest(uint64_t now) {
    return purge_range(run_of_link(resident_runs.prev), 1, now);
}

/* Purges the group of r, a resident free run in a huge group, if no run of it is in use.  Those that
   were never taken stay as they are. */
static bool purge_group(struct run *r, uint64_t now) {
    if (group_of(r)->in_use > 0)
        return false;
    struct run_window *w = window_of(r);
    unsigned first = (unsigned)(r - w->run) / RUNS_A_GROUP * RUNS_A_GROUP;
    unsigned end = first + RUNS_A_GROUP; /* the first group, which has the window's head, is never huge */
    if (end > record_of(w)->used)
        end = record_of(w)->used;
    return purge_range(&w->run[first], end - first, now);
}

/* Whether there is more than the share and the floor (runs/keep.h) alone would allow. */
static bool beyond_share(void) {
    return resident_free > size_max(in_use / 8, option(OPT_RUN_KEEP));
}

static struct run *take_free(void) {
    struct run *r;
    struct link *resident = list_empty(&huge_runs) ? &resident_runs : &huge_runs;
    if (!list_empty(resident)) {
        if (beyond_share())
            keep_confirm(&keep, os_clock_us());
        r = run_of_link(resident->next);
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
        group_of(r)->in_use++;
        struct run_window *w = window_of(r);
        w->bin[r - w->run] = (uint8_t)bin;
        *r = (struct run){.bin = (uint8_t)bin};
    }
    lock_release(&space_lock);
    return r;
}

/* A bounded step that still catches up: two runs for the one that came, or its group.  Lock held. */
static void purge_some(struct run *r) {
    uint64_t now = os_clock_us();
    size_t limit = keep_limit(&keep, in_use, option(OPT_RUN_KEEP), now);
    for (int i = 0; i < 2 && resident_free > limit && !list_empty(&resident_runs); i++)
        purge_oldest(now);
    if (resident_free > limit && r->resident && group_of(r)->huge)
        purge_group(r, now);
}

void space_give(struct run *r) {
    assert_argument(r->out == 0 && !r->listed);
    if (!lock_take(&space_lock))
        return;
    struct run_window *w = window_of(r);
    w->bin[r - w->run] = BIN_NONE;
    struct group *g = group_of(r);
    g->in_use--;
    in_use -= RUN_SIZE;
    resident_free += RUN_SIZE;
    r->resident = true;
    list_insert_after(g->huge ? &huge_runs : &resident_runs, &r->link);
    if (beyond_share())
        purge_some(r);
    lock_release(&space_lock);
}

bool runs_purge(size_t bytes) {
    bool gave = false;
    if (!lock_take(&space_lock))
        return false;
    uint64_t now = os_clock_us();
    while (resident_free > bytes && !list_empty(&resident_runs))
        gave |= purge_oldest(now);
    for (struct link *l = huge_runs.prev; l != &huge_runs && resident_free > bytes;) {
        if (purge_group(run_of_link(l), now)) {
            gave = true;
            l = huge_runs.prev; /* several have left the list */
        } else {
            l = l->prev;
        }
    }
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
