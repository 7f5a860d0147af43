#include "runs/space.h"

#include "base/counter.h"
#include "guard/assert.h"
#include "options/options.h"
#include "os/os.h"
#include "options/keep.h"

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
    struct run_window *older; /* of both kinds */
    struct kind *kind;
    unsigned used; /* runs ever taken, from the start */
    size_t committed;
    struct group group[GROUPS];
};

_Static_assert(sizeof(struct run_window) + sizeof(struct window_record) <= FIRST_RUN * RUN_SIZE,
               "a window's head");

struct lock space_lock = LOCK_INIT(RANK_SPACE);

/* The two kinds of windows.  Small objects fill their pages, so huge pages serve them well; a large
   object's owner may touch only a part of it, and a huge page would make all of it resident. */
struct kind {
    bool fills_pages;
    struct run_window *newest;
    struct link resident; /* free runs; newest first */
    struct link huge;     /* the same, in huge groups */
    struct link purged;
};

/* All guarded by space_lock. */
static struct kind small = {
    .fills_pages = true,
    .resident = {&small.resident, &small.resident},
    .huge = {&small.huge, &small.huge},
    .purged = {&small.purged, &small.purged},
};
static struct kind medium = {
    .resident = {&medium.resident, &medium.resident},
    .huge = {&medium.huge, &medium.huge},
    .purged = {&medium.purged, &medium.purged},
};
static struct run_window *newest;
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

static bool add_window(struct kind *k) {
    size_t committed = align_up(COMMIT_STEP, os_facts.page);
    struct run_window *w = window_create(WINDOW_RUNS, committed, "rung: runs");
    if (w == NULL)
        return false;
    *record_of(w) = (struct window_record){
        .older = newest, .kind = k, .used = FIRST_RUN, .committed = committed};
    newest = k->newest = w;
    system_bytes += committed;
    return true;
}

/* Makes more of the kind's newest window accessible. */
static bool commit_more(struct kind *k) {
    struct window_record *rec = record_of(k->newest);
    size_t huge_from = option(OPT_RUN_HUGE_FROM);
    bool huge = k->fills_pages && huge_from != 0 && system_bytes >= huge_from &&
                is_aligned(rec->committed, GROUP);
    size_t step = size_min(huge ? GROUP : COMMIT_STEP, WINDOW - rec->committed);
    char *from = (char *)k->newest + rec->committed;
    if (!os_commit(from, step))
        return false;
    if (huge)
        rec->group[rec->committed / GROUP].huge = os_advise_huge(from, step);
    rec->committed += step;
    system_bytes += step;
    return true;
}

static struct run *take_fresh(struct kind *k) {
    if (k->newest == NULL || record_of(k->newest)->used == RUNS_A_WINDOW) {
        if (!add_window(k))
            return NULL;
    }
    struct window_record *rec = record_of(k->newest);
    if ((rec->used + 1) * RUN_SIZE > rec->committed && !commit_more(k))
        return NULL;
    return &k->newest->run[rec->used++];
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
        list_insert_after(&record_of(window_of(r))->kind->purged, &r->link);
    }
    return gone;
}

/* The kind has a resident run in no huge group. */
static bool purge_oldest(struct kind *k, uint64_t now) {
    return purge_range(run_of_link(k->resident.prev), 1, now);
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

/* Whether there is more than the share and the floor (options/keep.h) alone would allow. */
static bool beyond_share(void) {
    return resident_free > size_max(in_use / 8, option(OPT_RUN_KEEP));
}

static struct run *take_free(struct kind *k) {
    struct run *r;
    struct link *resident = list_empty(&k->huge) ? &k->resident : &k->huge;
    if (!list_empty(resident)) {
        if (beyond_share())
            keep_confirm(&keep, os_clock_us());
        r = run_of_link(resident->next);
        resident_free -= RUN_SIZE;
    } else if (!list_empty(&k->purged)) {
        r = run_of_link(k->purged.next);
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
    struct kind *k = bin < RUN_SMALL_BINS ? &small : &medium;
    struct run *r = take_free(k);
    if (r == NULL)
        r = take_fresh(k);
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
    struct kind *k = record_of(window_of(r))->kind;
    uint64_t now = os_clock_us();
    size_t limit = keep_limit(&keep, in_use, option(OPT_RUN_KEEP), now);
    for (int i = 0; i < 2 && resident_free > limit && !list_empty(&k->resident); i++)
        purge_oldest(k, now);
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
    struct kind *k = record_of(w)->kind;
    list_insert_after(g->huge ? &k->huge : &k->resident, &r->link);
    if (beyond_share())
        purge_some(r);
    lock_release(&space_lock);
}

static bool purge_kind(struct kind *k, size_t bytes, uint64_t now) {
    bool gave = false;
    while (resident_free > bytes && !list_empty(&k->resident))
        gave |= purge_oldest(k, now);
    for (struct link *l = k->huge.prev; l != &k->huge && resident_free > bytes;) {
        if (purge_group(run_of_link(l), now)) {
            gave = true;
            l = k->huge.prev; /* several have left the list */
        } else {
            l = l->prev;
        }
    }
    return gave;
}

bool runs_purge(size_t bytes) {
    if (!lock_take(&space_lock))
        return false;
    uint64_t now = os_clock_us();
    bool gave = purge_kind(&medium, bytes, now);
    gave |= purge_kind(&small, bytes, now);
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
