#include "cache/tcache.h"

#include "arena/arenas.h"
#include "arena/release.h"
#include "base/counter.h"
#include "cache/cpu_cache.h"
#include "cache/hand_back.h"
#include "chunk/meta.h"
#include "options/options.h"
#include "os/os.h"

/* Never written to, but not const: a write would be a bug that a fault should show. */
struct tcache tcache_inactive;
struct tcache tcache_disabled;

__thread struct self self TLS_INITIAL_EXEC = {.area = {.number = -1}, .tcache = &tcache_inactive};

/* ---- start and end ---- */

static bool start_plain(void) {
    struct tcache *t = meta_alloc(sizeof *t);
    if (t == NULL)
        return false;
    size_t last = tcache_bin(chunk_size_of_request(option(OPT_TCACHE_MAX)));
    for (size_t bin = 0; bin <= last && bin < TCACHE_BINS; bin++)
        t->room[bin] = (uint16_t)option(OPT_TCACHE_COUNT);
    self.tcache = t;
    return true;
}

void tcache_start(void) {
    if (!tcache_is_inactive(self.tcache))
        return;
    self.tcache = &tcache_disabled;
    if (option(OPT_TCACHE_COUNT) == 0 || option(OPT_PERTURB) != 0)
        return;
    if (option(OPT_RUNS) != 0) {
        caches_switch_on(); /* before runs there is another cache */
        return;
    }
    if (!start_plain())
        return;
    counter_add(COUNT_TCACHES, 1);
    if (self.record != NULL)
        self.record->tcache = self.tcache;
}

/* Takes the whole of a bin apart; at the thread's end only. */
static void drain(struct tcache *t, size_t bin) {
    for (struct cached *e = t->head[bin]; e != NULL;) {
        if (UNLIKELY(!ptr_is_aligned(e, ALIGNMENT)))
            die(MSG_SHUTDOWN_TCACHE, e, 0);
        struct cached *next = unmask_next(e);
        e->key = 0;
        hand_back(chunk_of_mem(e));
        e = next;
    }
    t->head[bin] = NULL;
}

void tcache_stop(void) {
    struct tcache *t = self.tcache;
    bool plain = t != &tcache_inactive && t != &tcache_disabled;
    self.tcache = &tcache_disabled;
    if (self.record != NULL)
        self.record->tcache = NULL;
    if (!plain)
        return;
    counter_sub(COUNT_TCACHES, 1);
    for (size_t bin = 0; bin < TCACHE_BINS; bin++)
        drain(t, bin);
    meta_free(t, sizeof *t);
}

/* ---- large bins ---- */

size_t tcache_bin(size_t csz) {
    if (csz > chunk_size_of_request(option(OPT_TCACHE_MAX)))
        return TCACHE_BINS;
    if (csz <= TCACHE_SMALL_MAX)
        return tcache_bin_of_head(csz);
    /* 1056..2047 -> 64, then one bin a power of two, up to 4 MiB and a header. */
    size_t bin = TCACHE_SMALL_BINS + log2_floor(csz) - log2_floor(TCACHE_SMALL_MAX);
    return size_min(bin, TCACHE_BINS - 1);
}

static struct cached *next_checked(const struct cached *e, enum message unaligned) {
    struct cached *next = unmask_next(e);
    if (UNLIKELY(!ptr_is_aligned(next, ALIGNMENT)))
        die(unaligned, e, e->masked_next);
    return next;
}

static size_t size_of(const struct cached *e) {
    return chunk_size(chunk_of_mem(e));
}

/* The object after which one of csz bytes belongs, or NULL: it belongs in front. */
static struct cached *find_place(struct tcache *t, size_t bin, size_t csz) {
    struct cached *before = NULL;
    for (struct cached *e = t->head[bin]; e != NULL && size_of(e) < csz;
         e = next_checked(e, MSG_MALLOC_TCACHE_ALIGN))
        before = e;
    return before;
}

/* e, which lies behind `before`, or NULL: in front. */
static void *pop_behind(struct tcache *t, size_t bin, struct cached *before, struct cached *e) {
    if (before == NULL)
        return tcache_pop(t, bin);
    mask_next(before, next_checked(e, MSG_MALLOC_TCACHE_ALIGN));
    t->room[bin]++;
    e->key = 0;
    return e;
}

void *tcache_pop_large(struct tcache *t, size_t bin, size_t csz) {
    struct cached *before = find_place(t, bin, csz);
    struct cached *e =
        before == NULL ? t->head[bin] : next_checked(before, MSG_MALLOC_TCACHE_ALIGN);
    return e != NULL ? pop_behind(t, bin, before, e) : NULL;
}

void tcache_push_large(struct tcache *t, size_t bin, void *mem) {
    struct cached *e = mem;
    struct cached *before = find_place(t, bin, size_of(e));
    if (before == NULL) {
        tcache_push(t, bin, mem);
        return;
    }
    e->key = cached_key;
    mask_next(e, next_checked(before, MSG_MALLOC_TCACHE_ALIGN));
    mask_next(before, e);
    t->room[bin]--;
}

/* ---- the rest ---- */

void *tcache_pop_aligned(struct tcache *t, size_t csz, size_t align) {
    size_t bin = tcache_bin(csz);
    if (bin >= TCACHE_BINS)
        return NULL;
    struct cached *before = NULL;
    struct cached *e = t->head[bin];
    while (e != NULL && (size_of(e) != csz || !ptr_is_aligned(e, align))) {
        before = e;
        e = next_checked(e, MSG_MALLOC_TCACHE_ALIGN);
    }
    return e != NULL ? pop_behind(t, bin, before, e) : NULL;
}

void tcache_accept(struct tcache *t, size_t bin, struct batch *b) {
    /* The batch is newest first, as the bin shall be: the newest is handed out next. */
    struct cached *below = t->head[bin];
    struct cached *above = NULL;
    for (struct chunk *c = b->last; c != NULL;) {
        struct chunk *older = c->link.next != NULL ? chunk_of_link(c->link.next) : NULL;
        struct cached *e = mem_of_chunk(c);
        e->key = cached_key;
        if (above != NULL)
            mask_next(above, e);
        else
            t->head[bin] = e;
        mask_next(e, below);
        above = e;
        t->room[bin]--;
        c = older;
    }
    b->last = NULL;
}

COLD void tcache_check_double_free(struct tcache *t, void *mem) {
    struct cached *wanted = mem;
    for (size_t bin = 0; bin < TCACHE_BINS; bin++) {
        size_t seen = 0;
        for (struct cached *e = t->head[bin]; e != NULL; e = unmask_next(e)) {
            if (seen++ >= option(OPT_TCACHE_COUNT))
                die(MSG_FREE_TCACHE_COUNT, mem, chunk_head(chunk_of_mem(mem)));
            if (!ptr_is_aligned(e, ALIGNMENT))
                die(MSG_FREE_TCACHE_ALIGN, mem, (uintptr_t)e);
            if (e == wanted)
                die(MSG_FREE_TCACHE_DOUBLE, mem, chunk_head(chunk_of_mem(mem)));
        }
    }
    wanted->key = 0;
}

size_t tcache_bytes(const struct tcache *t) {
    size_t bytes = 0;
    for (size_t bin = 0; bin < TCACHE_BINS; bin++)
        for (const struct cached *e = t->head[bin]; e != NULL; e = unmask_next(e))
            bytes += size_of(e);
    return bytes;
}
