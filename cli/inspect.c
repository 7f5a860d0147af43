#include "inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "options/options.h"
#include "report/print.h"

enum {
    TRIES = 20,     /* how often something that makes no sense is looked at again: it was being changed */
    PATIENCE = 200, /* how often that is done at all */
    LOOKS = 4,      /* how often everything is looked at again when the process was at work */
    RECORDS_MAX = 1 << 17,
};

/* ---- reading ----
 *
 * Pages are kept for as long as one structure is looked at.  Those that the process has not touched yet
 * are not read: the kernel would give it the page.  They hold zeros, or, in the library's data, counts
 * that are zero at first. */

enum { KEPT_PAGES = 1024, KEPT_BYTES = 4096 };

struct kept_page {
    uintptr_t page; /* 0: none */
    char bytes[KEPT_BYTES];
};

struct reader {
    const struct target *target;
    struct residency *residency; /* or NULL */
    unsigned patience;
    struct kept_page kept[KEPT_PAGES];
};

static void forget(void *reader) {
    struct reader *r = reader;
    for (size_t i = 0; i < KEPT_PAGES; i++)
        r->kept[i].page = 0;
}

static bool read_page(struct reader *r, uintptr_t page, char *to) {
    if (r->residency == NULL || !residency_is_blank(r->residency, page))
        return target_read(r->target, (void *)page, to, KEPT_BYTES);
    memset(to, 0, KEPT_BYTES);
    return true;
}

static const char *page_at(struct reader *r, uintptr_t page) {
    struct kept_page *k = &r->kept[page / KEPT_BYTES % KEPT_PAGES];
    if (k->page != page) {
        k->page = 0;
        if (!read_page(r, page, k->bytes))
            return NULL;
        k->page = page;
    }
    return k->bytes;
}

static bool read_target(const struct memory *m, const void *from, void *to, size_t len) {
    struct reader *r = m->context;
    char *out = to;
    for (uintptr_t at = (uintptr_t)from; len > 0;) {
        uintptr_t page = align_down(at, KEPT_BYTES);
        size_t n = size_min(page + KEPT_BYTES - at, len);
        const char *bytes = page != 0 ? page_at(r, page) : NULL;
        if (bytes == NULL)
            return false;
        memcpy(out, bytes + (at - page), n);
        at += n;
        out += n;
        len -= n;
    }
    return true;
}

/* What was copied into *b may be no truth value. */
static void make_truth(bool *b) {
    unsigned char byte;
    memcpy(&byte, b, sizeof byte);
    *b = byte != 0;
}

/* Whether it is worth while to look again, after a millisecond. */
static bool rest(struct reader *r) {
    const struct timespec ms = {.tv_nsec = 1000000};
    if (r->patience == 0)
        return false;
    r->patience--;
    nanosleep(&ms, NULL);
    return true;
}

/* More windows there cannot be. */
static size_t windows_max(const struct memory *m) {
    return m->bytes / WINDOW + 1;
}

/* ---- pictures ---- */

/* For each MiB of a window:
     .  not accessible
     _  accessible, nothing resident
     o  more than half of what is resident is free
     #  else: three quarters and more are resident
     +  a quarter and more
     -  less                                                     */
static char sign_of(size_t accessible, size_t resident, size_t free) {
    if (accessible == 0)
        return '.';
    if (resident == 0)
        return '_';
    if (free > resident / 2)
        return 'o';
    return resident >= accessible / 4 * 3 ? '#' : resident >= accessible / 4 ? '+' : '-';
}

/* w: of runs, or NULL.  Accessible is what lies below `end`, or what w says. */
static void draw(struct window_view *v, struct residency *r, const struct run_window *w, size_t end) {
    size_t cell = WINDOW / CELLS;
    for (size_t c = 0; c < CELLS; c++) {
        size_t accessible = 0, resident = 0, free = 0;
        for (size_t at = c * cell; at < (c + 1) * cell; at += os_facts.page) {
            size_t page = at / os_facts.page;
            if (w != NULL ? bit_get(w->closed, page) : at >= end)
                continue;
            size_t bytes = r != NULL ? residency_bytes(r, v->start + at, v->start + at + os_facts.page)
                                     : os_facts.page;
            accessible += os_facts.page;
            resident += bytes;
            free += w != NULL && account_page_is_free(w, page) ? bytes : 0;
        }
        v->resident += resident;
        v->picture[c] = sign_of(accessible, resident, free);
    }
}

static struct window_view *add_view(struct inspection *i, uintptr_t start) {
    struct window_view *more = realloc(i->windows, (i->window_count + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    i->windows = more;
    struct window_view *v = &more[i->window_count++];
    *v = (struct window_view){.start = start};
    return v;
}

/* ---- runs ---- */

/* Whether a copy of a window is of one moment: its counts agree with its bits. */
static bool is_whole(const struct run_window *w) {
    size_t pages = WINDOW / os_facts.page;
    if (w->kind >= SPACE_KINDS || bits_count(w->free, 0, pages) != w->free_pages ||
        bits_count(w->resident, 0, pages) != w->resident_pages)
        return false;
    for (unsigned slot = HEAD_RUNS; slot < RUNS_A_WINDOW; slot++) {
        if (w->slot[slot] >= RUN_BINS)
            continue;
        size_t objects = RUN_SIZE / run_bin_size(w->slot[slot]);
        size_t free = 0;
        for (size_t i = 0; i < objects; i += WORD_BITS) {
            uint64_t word = w->objects[i / WORD_BITS / STRIPE_WORDS][slot][i / WORD_BITS % STRIPE_WORDS];
            free += (size_t)__builtin_popcountll(word & word_mask(0, size_min(objects - i, WORD_BITS)));
        }
        if (free != w->run[slot].free_objects || w->run[slot].bin != w->slot[slot])
            return false;
    }
    return true;
}

/* A copy that is whole, or else the last one.  False: it cannot be read. */
static bool copy_window(const struct memory *m, const void *at, struct run_window *copy, bool *damaged) {
    for (int i = 0; i < TRIES; i++) {
        forget(m->context);
        if (m->residency != NULL)
            residency_forget(m->residency);
        if (!read_target(m, at, copy, sizeof *copy))
            return false;
        if (is_whole(copy))
            return true;
        if (!rest(m->context))
            break;
    }
    *damaged = true;
    return true;
}

static bool inspect_window(struct inspection *i, const struct memory *m, const struct run_window *w,
                           const struct run_window *at) {
    struct window_view *v = add_view(i, (uintptr_t)at);
    if (v == NULL)
        return false;
    v->kind = w->kind == SPACE_SMALL ? OF_SMALL : OF_LARGE;
    account_window(&v->account, i->classes, m, w, (uintptr_t)at);
    account_add(&i->account, &v->account);
    draw(v, m->residency, w, WINDOW);
    return true;
}

static bool inspect_runs(struct inspection *i, const struct memory *m) {
    const struct reader *r = m->context;
    struct space_windows all[SPACE_KINDS];
    struct run_window *copy = malloc(sizeof *copy);
    bool ok = copy != NULL && target_read(r->target, r->target->view.windows, all, sizeof all);
    for (int kind = 0; kind < SPACE_KINDS && ok; kind++) {
        size_t n = 0;
        for (const struct run_window *at = all[kind].oldest; at != NULL && ok; at = copy->newer) {
            if (n++ == windows_max(m) || !ptr_is_aligned(at, WINDOW) || !copy_window(m, at, copy, &i->damaged)) {
                i->damaged = true;
                break;
            }
            ok = inspect_window(i, m, copy, at);
        }
    }
    free(copy);
    return ok;
}

/* ---- arenas ---- */

static bool copy_arena(const struct target *t, const struct arena *at, struct arena *copy) {
    if (!target_read(t, at, copy, sizeof *copy))
        return false;
    copy->main = at == t->view.main_arena;
    make_truth(&copy->purges);
    return true;
}

/* Sums up the arena at `at` until that makes sense. */
static bool sum_up(const struct target *t, const struct memory *m, const struct arena *at, struct arena *copy,
                   struct account *a, struct arena_snapshot *s) {
    for (int i = 0; i < TRIES; i++) {
        struct arena after;
        forget(m->context);
        *a = (struct account){0};
        memset(s, 0, sizeof *s);
        if (!copy_arena(t, at, copy))
            return false;
        if (account_arena(a, s, m, copy, at, t->view.main_pieces) && target_read(t, at, &after, sizeof after) &&
            after.top == copy->top && after.system == copy->system &&
            memcmp(&after.bins, &copy->bins, sizeof after.bins) == 0)
            return true;
        if (!rest(m->context))
            break;
    }
    return false;
}

static bool view_heaps(struct inspection *i, const struct memory *m, const struct arena *a) {
    struct heap h;
    size_t n = 0;
    for (const struct heap *at = heap_of(a->top); at != NULL && n < windows_max(m); at = h.prev, n++) {
        if (!read_target(m, at, &h, sizeof h) || h.committed > HEAP_MAX)
            return true;
        struct window_view *v = add_view(i, (uintptr_t)at);
        if (v == NULL)
            return false;
        v->kind = OF_ARENA;
        v->arena = a->number;
        draw(v, m->residency, NULL, h.committed);
    }
    return true;
}

static bool inspect_arena(struct inspection *i, const struct memory *m, const struct arena *at,
                          const struct arena **next) {
    const struct reader *r = m->context;
    struct account a;
    struct arena_snapshot s;
    struct arena copy;
    struct arena_view *more = realloc(i->arenas, (i->arena_count + 1) * sizeof *more);
    if (more == NULL)
        return false;
    i->arenas = more;
    struct arena_view *v = &more[i->arena_count++];
    *v = (struct arena_view){.left_out = !sum_up(r->target, m, at, &copy, &a, &s)};
    *next = NULL;
    if (!copy_arena(r->target, at, &copy)) {
        i->arena_count--;
        i->damaged = true;
        return true;
    }
    *next = copy.next;
    v->number = copy.number;
    v->threads = copy.threads;
    v->system = copy.system;
    if (v->left_out) {
        i->damaged = true;
        i->account.arenas++;
        return true;
    }
    v->free_bytes = s.free_bytes;
    v->resident_free = a.free_resident;
    v->pinned = a.pinned;
    account_add(&i->account, &a);
    return copy.main || copy.top == NULL || view_heaps(i, m, &copy);
}

static bool inspect_arenas(struct inspection *i, const struct memory *m) {
    const struct reader *r = m->context;
    const struct arena *first = r->target->view.main_arena;
    const struct arena *at = first;
    do {
        if (!inspect_arena(i, m, at, &at))
            return false;
    } while (at != NULL && at != first && i->arena_count <= windows_max(m));
    return true;
}

/* ---- caches and the library's own ---- */

static void inspect_cache(struct inspection *i, const struct memory *m, const struct thread_record *record) {
    const struct reader *r = m->context;
    const struct rung_view *v = &r->target->view;
    struct tcache t;
    if (record->tcache != NULL && (const void *)record->tcache != v->tcache_inactive &&
        (const void *)record->tcache != v->tcache_disabled && read_target(m, record->tcache, &t, sizeof t))
        account_tcache(&i->account, &t, option(OPT_TCACHE_COUNT));
}

static void inspect_cpu_caches(struct inspection *i, const struct memory *m) {
    const struct reader *r = m->context;
    struct cpu_cache c = {0};
    if (!target_read(r->target, r->target->view.cpu_caches, &c.next, sizeof c.next))
        return;
    for (size_t n = 0; n < CACHES_MAX && c.next != NULL && read_target(m, c.next, &c, sizeof c); n++)
        account_cpu_cache(&i->account, i->classes, &c);
}

static void inspect_caches(struct inspection *i, const struct memory *m) {
    const struct reader *r = m->context;
    const struct thread_record *bucket[RECORD_BUCKETS];
    size_t n = 0;
    inspect_cpu_caches(i, m);
    if (!target_read(r->target, r->target->view.records, bucket, sizeof bucket))
        return;
    for (size_t b = 0; b < RECORD_BUCKETS; b++) {
        struct thread_record record;
        for (const struct thread_record *at = bucket[b]; at != NULL && n++ < RECORDS_MAX; at = record.next) {
            if (!read_target(m, at, &record, sizeof record))
                break;
            inspect_cache(i, m, &record);
        }
    }
}

static void inspect_own(struct inspection *i, const struct memory *m) {
    const struct reader *r = m->context;
    const struct rung_view *v = &r->target->view;
    struct depot_view depot;
    struct meta_block b = {0};
    if (target_read(r->target, v->depot, &depot, sizeof depot) && option(OPT_RUNS) != 0 &&
        !account_depot(&i->account, i->classes, m, &depot))
        i->damaged = true;
    if (!read_target(m, v->meta, &b.older, sizeof b.older))
        return;
    size_t left = m->bytes;
    while (b.older != NULL && read_target(m, b.older, &b, sizeof b)) {
        if (b.bytes == 0 || b.bytes > left) {
            i->damaged = true;
            break;
        }
        left -= b.bytes;
        account_own(&i->account, m, b.start, b.bytes);
    }
    account_table(&i->account, m, v->window_uses, WINDOW_COUNT);
}

/* ---- what the process is set to, and what the kernel says ---- */

static bool read_settings(const struct target *t, struct inspection *i) {
    const struct rung_view *v = &t->view;
    size_t values[OPTION_COUNT];
    unsigned char origins[OPTION_COUNT];
    enum profile profile;
    if (!target_read(t, v->facts, &os_facts, sizeof os_facts) || !is_pow2(os_facts.page) ||
        os_facts.page > RUN_SIZE || os_facts.page < 4096 || !target_read(t, v->options, values, sizeof values) ||
        !target_read(t, v->option_origins, origins, sizeof origins) ||
        !target_read(t, v->profile, &profile, sizeof profile) ||
        !target_read(t, v->counters, i->counts, sizeof i->counts))
        return false;
    make_truth(&os_facts.strict_commit);
    make_truth(&os_facts.secure);
    make_truth(&os_facts.own_break);
    make_truth(&os_facts.thp_on_request);
    option_profile_in_use = profile < PROFILE_COUNT ? profile : PROFILE_GLIBC;
    for (int o = 0; o < OPTION_COUNT; o++) {
        option_store((enum option)o, values[o]);
        option_origins[o] = origins[o];
    }
    i->counts[COUNT_LOCK_ACQUISITIONS] = i->counts[COUNT_LOCK_WAITS] = COUNT_UNKNOWN;
    return true;
}

static void read_kernel(const struct target *t, struct inspection *i) {
    char path[40], line[256];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", t->pid);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        size_t kib;
        if (sscanf(line, "Rss: %zu", &kib) == 1)
            i->rss = kib * KIB;
        else if (sscanf(line, "Private_Dirty: %zu", &kib) == 1)
            i->private_dirty = kib * KIB;
        else if (sscanf(line, "Swap: %zu", &kib) == 1)
            i->swap = kib * KIB;
    }
    if (f != NULL)
        fclose(f);
}

/* ---- all ---- */

static bool look(const struct target *t, struct inspection *i, struct memory *m) {
    bool running_before, running_after;
    uint64_t ran = target_ran(t, &running_before);
    forget(m->context);
    if (m->residency != NULL)
        residency_forget(m->residency);
    if (!read_settings(t, i) || !inspect_arenas(i, m) || !inspect_runs(i, m))
        return false;
    forget(m->context);
    inspect_caches(i, m);
    inspect_own(i, m);
    i->account.mapped = i->counts[COUNT_MAPPED_BYTES];
    i->account.mapped_kept = i->counts[COUNT_MAPPED_KEPT];
    i->account.mapped_chunks = i->counts[COUNT_MAPPED_NOW];
    account_close(&i->account);
    read_kernel(t, i);
    i->in_motion = target_ran(t, &running_after) != ran || running_before || running_after;
    return true;
}

/* A process that is at work may rest for a moment. */
static bool look_again(const struct target *t, struct inspection *i, struct memory *m, bool kernel_asked) {
    for (int n = 0; n < LOOKS; n++) {
        inspection_free(i);
        i->account.kernel_asked = kernel_asked;
        if (!look(t, i, m)) {
            inspection_free(i);
            return false;
        }
        if (!i->in_motion || !rest(m->context))
            break;
    }
    return true;
}

bool inspect(const struct target *t, struct inspection *i) {
    struct residency residency;
    struct reader *r = calloc(1, sizeof *r);
    *i = (struct inspection){0};
    if (r == NULL)
        return false;
    r->target = t;
    r->patience = PATIENCE;
    struct memory m = {.read = read_target, .context = r, .bytes = target_bytes(t)};
    bool kernel_asked = residency_open(&residency, t->pid);
    if (kernel_asked)
        m.residency = r->residency = &residency;
    bool ok = look_again(t, i, &m, kernel_asked);
    residency_close(&residency);
    free(r);
    return ok;
}

void inspection_free(struct inspection *i) {
    free(i->windows);
    free(i->arenas);
    *i = (struct inspection){0};
}
