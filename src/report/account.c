#include "report/account.h"

#include "arena/heap.h"
#include "arena/pages.h"
#include "arena/top.h"
#include "os/os.h"

static size_t minus(size_t a, size_t b) {
    return a - size_min(a, b);
}

static size_t resident_of(const struct memory *m, uintptr_t from, uintptr_t to) {
    if (from >= to)
        return 0;
    return m->residency != NULL ? residency_bytes(m->residency, from, to) : to - from;
}

/* ---- arenas ---- */

/* What an arena's memory amounts to, while its parts are looked at. */
struct stretch {
    size_t all, all_resident;     /* its pieces or sub-heaps */
    size_t pages, pages_resident; /* free whole pages */
    size_t heads;
    size_t front; /* of a free chunk, before its free pages: links, and a note if the arena keeps them */
};

static void add_range(struct stretch *x, const struct memory *m, uintptr_t from, uintptr_t to) {
    if (from >= to)
        return;
    x->all += to - from;
    x->all_resident += resident_of(m, from, to);
}

static void add_free_pages(struct stretch *x, const struct memory *m, uintptr_t from, uintptr_t to) {
    from = align_up(from, os_facts.page);
    to = align_down(to, os_facts.page);
    if (from >= to)
        return;
    x->pages += to - from;
    x->pages_resident += resident_of(m, from, to);
}

/* Its size, and what follows it in a list.  The foot in front may be somebody's payload: it is not looked
   at. */
static bool read_chunk(const struct memory *m, const struct chunk *at, struct chunk *c) {
    return m->read(m, &at->head, &c->head, offsetof(struct chunk, sizes) - offsetof(struct chunk, head));
}

static bool read_head(const struct memory *m, const struct chunk *at, struct chunk *c) {
    return m->read(m, &at->head, &c->head, sizeof c->head);
}

static bool plausible(size_t csz, size_t limit) {
    return csz >= MIN_CHUNK && csz <= limit && is_aligned(csz, ALIGNMENT);
}

/* What of it can be given back: up to where its successor begins. */
static void add_chunk(struct stretch *x, const struct memory *m, uintptr_t c, size_t csz) {
    add_free_pages(x, m, c + x->front, c + csz);
}

static bool summarise(struct bin_summary *b, struct stretch *x, const struct memory *m,
                      const struct link *first, const struct link *head, size_t limit) {
    const struct link *seen = NULL; /* a list that comes back to it never ends */
    for (const struct link *l = first; l != head && l != NULL;) {
        const struct chunk *at = chunk_of_link(l);
        struct chunk c;
        if (l == seen)
            return false;
        if ((b->count & (b->count - 1)) == 0)
            seen = l;
        if (!read_chunk(m, at, &c))
            return false;
        size_t csz = chunk_size(&c);
        if (!plausible(csz, limit) || b->bytes + csz > limit)
            return false;
        b->smallest = b->count == 0 ? csz : size_min(b->smallest, csz);
        b->largest = size_max(b->largest, csz);
        b->bytes += csz;
        b->count++;
        add_chunk(x, m, (uintptr_t)at, csz);
        l = c.link.next;
    }
    return true;
}

/* The bytes of the fenceposts that end [.., end) (arena/top.c). */
static bool fences_before(const struct memory *m, uintptr_t end, size_t *bytes) {
    struct chunk post;
    if (!read_head(m, (const struct chunk *)(end - 2 * FENCEPOST), &post))
        return false;
    *bytes += (is_secondary(&post) ? 3 : 2) * FENCEPOST;
    return true;
}

static bool add_heaps(struct account *a, struct arena_snapshot *s, struct stretch *x, const struct memory *m,
                      const struct arena *from, const struct arena *at) {
    for (const struct heap *h = heap_of(from->top); h != NULL;) {
        struct heap copy;
        uintptr_t start = (uintptr_t)h;
        if (!ptr_is_aligned(h, WINDOW) || !m->read(m, h, &copy, sizeof copy) || copy.arena != at ||
            copy.committed > HEAP_MAX || copy.size > copy.committed ||
            (m->bytes != 0 && s->heaps > m->bytes / WINDOW))
            return false;
        if (s->heaps > 0 && !fences_before(m, start + copy.size, &x->heads))
            return false;
        s->heaps++;
        s->address_space += copy.size;
        s->committed += copy.committed;
        a->reserved += HEAP_MAX - copy.committed;
        x->heads += sizeof copy + copy.lead;
        add_range(x, m, start, start + copy.committed);
        add_free_pages(x, m, start + copy.size, start + copy.committed);
        h = copy.prev;
    }
    a->heaps += s->heaps;
    return true;
}

/* Where it lies in more pieces than are kept, what is known of its size alone is counted. */
static bool add_pieces(struct stretch *x, const struct memory *m, const struct arena *from,
                       uintptr_t end_of_top, const struct main_pieces *p) {
    if (p->count > MAIN_PIECES) {
        x->all += from->system;
        x->all_resident += from->system;
        return true;
    }
    for (unsigned i = 0; i < p->count; i++) {
        uintptr_t start = (uintptr_t)p->piece[i].first;
        bool last = i + 1 == p->count;
        uintptr_t end = last ? end_of_top : (uintptr_t)p->piece[i].end;
        if (end < start || (m->bytes != 0 && end - start > m->bytes))
            return false;
        add_range(x, m, start, end);
        if (!last && !fences_before(m, align_down(end - start, ALIGNMENT) + start, &x->heads))
            return false;
    }
    return true;
}

static bool add_top(struct arena_snapshot *s, struct stretch *x, const struct memory *m,
                    const struct arena *from) {
    struct chunk top;
    if (!read_head(m, from->top, &top))
        return false;
    s->top_bytes = chunk_size(&top);
    if (s->top_bytes > from->system)
        return false;
    uintptr_t c = (uintptr_t)from->top;
    add_free_pages(x, m, c + offsetof(struct chunk, link), c + s->top_bytes);
    return true;
}

static bool add_inbox(struct account *a, const struct memory *m, const struct arena *from) {
    size_t limit = from->system;
    for (const struct chunk *c = from->inbox; c != NULL;) {
        struct chunk copy;
        if (!read_chunk(m, c, &copy) || !plausible(chunk_size(&copy), limit))
            return false;
        limit -= chunk_size(&copy);
        a->cached_inboxes += chunk_size(&copy);
        c = copy.link.next != NULL ? chunk_of_link(copy.link.next) : NULL;
    }
    return true;
}

static void settle(struct account *a, const struct arena_snapshot *s, const struct stretch *x) {
    size_t free_pages = size_min(x->pages, x->all);
    a->free_resident += x->pages_resident;
    a->free_purged += minus(x->pages, x->pages_resident);
    a->absent += minus(x->all - size_min(x->all_resident, x->all), minus(x->pages, x->pages_resident));
    a->metadata_heads += x->heads;
    /* Behind a sub-heap's end there may be free pages that no chunk has. */
    size_t behind = minus(s->committed, s->address_space);
    a->pinned += minus(s->free_bytes + behind, free_pages);
    a->live += minus(x->all, x->heads + s->free_bytes + behind);
}

bool account_arena(struct account *a, struct arena_snapshot *s, const struct memory *m,
                   const struct arena *from, const struct arena *at, const void *pieces) {
    struct stretch x = {.front = sizeof(struct chunk) + (from->purges ? sizeof(struct page_note) : 0)};
    struct main_pieces p;
    a->arenas++;
    s->free_chunks = 1;
    if (from->main)
        s->address_space = s->committed = from->system;
    if (from->top == NULL)
        return true;
    if (m->bytes != 0 && from->system > m->bytes)
        return false;
    if (!add_top(s, &x, m, from))
        return false;
    s->free_bytes = s->top_bytes;
    for (unsigned i = BIN_UNSORTED; i < BIN_COUNT; i++) {
        const struct link *head = &at->bins.head[i];
        if (!summarise(&s->bin[i], &x, m, from->bins.head[i].next, head, from->system))
            return false;
        s->free_chunks += s->bin[i].count;
        s->free_bytes += s->bin[i].bytes;
    }
    if (s->free_bytes > from->system)
        return false;
    uintptr_t end_of_top = (uintptr_t)from->top + s->top_bytes;
    bool ranges = from->main ? m->read(m, pieces, &p, sizeof p) && add_pieces(&x, m, from, end_of_top, &p)
                             : add_heaps(a, s, &x, m, from, at);
    if (!ranges || !add_inbox(a, m, from))
        return false;
    settle(a, s, &x);
    return true;
}

/* ---- runs ---- */

/* A bit for each page of the slot that nothing on it keeps from going. */
static unsigned free_pages_of_run(const struct run *r) {
    unsigned all = (1u << (RUN_SIZE / os_facts.page)) - 1;
    return (unsigned)(r->idle | r->gone) & all;
}

static size_t add_run(struct account *a, struct class_account *class, const struct run *r, unsigned bin) {
    size_t size = run_bin_size(bin);
    size_t objects = RUN_SIZE / size;
    size_t free = size_min(r->free_objects, objects);
    size_t pages = (size_t)__builtin_popcount(free_pages_of_run(r)) * os_facts.page;
    size_t pinned = minus(RUN_SIZE - (objects - free) * size, pages);
    class->runs++;
    class->out += objects - free;
    class->free += free;
    class->free_pages += pages;
    class->pinned += pinned;
    a->pinned += pinned;
    a->live += (objects - free) * size;
    a->free_kept += (size_t)__builtin_popcount(r->idle & free_pages_of_run(r)) * os_facts.page;
    return pages;
}

enum page_use { PAGE_CLOSED, PAGE_FREE, PAGE_USED };

static enum page_use use_of(const struct run_window *w, size_t page) {
    size_t a_slot = RUN_SIZE / os_facts.page;
    if (bit_get(w->closed, page))
        return PAGE_CLOSED;
    if (bit_get(w->free, page))
        return PAGE_FREE;
    size_t slot = page / a_slot;
    bool idle = w->slot[slot] < RUN_BINS && (free_pages_of_run(&w->run[slot]) >> page % a_slot & 1) != 0;
    return idle ? PAGE_FREE : PAGE_USED;
}

bool account_page_is_free(const struct run_window *w, size_t page) {
    return use_of(w, page) == PAGE_FREE;
}

/* Asks the kernel about stretches of pages of one use. */
static void ask_about(struct account *a, const struct memory *m, const struct run_window *w, uintptr_t at) {
    size_t pages = WINDOW / os_facts.page;
    for (size_t page = HEAD_RUNS * (RUN_SIZE / os_facts.page), end; page < pages; page = end) {
        enum page_use use = use_of(w, page);
        end = page + 1;
        while (end < pages && use_of(w, end) == use)
            end++;
        if (use == PAGE_CLOSED)
            continue;
        size_t bytes = (end - page) * os_facts.page;
        size_t resident = resident_of(m, at + page * os_facts.page, at + end * os_facts.page);
        if (use == PAGE_FREE) {
            a->free_resident += resident;
            a->free_purged += bytes - resident;
        } else {
            a->absent += bytes - resident;
        }
    }
}

void account_window(struct account *a, struct class_account *classes, const struct memory *m,
                    const struct run_window *w, uintptr_t at) {
    size_t pages = WINDOW / os_facts.page;
    size_t head = HEAD_RUNS * RUN_SIZE;
    size_t closed = bits_count(w->closed, 0, pages) * os_facts.page;
    size_t free_pages = minus(bits_count(w->free, 0, pages) * os_facts.page, closed);
    size_t kept_before = a->free_kept;
    size_t runs = 0;
    a->windows++;
    a->reserved += closed;
    a->free_kept += bits_count(w->resident, 0, pages) * os_facts.page;
    size_t touched = resident_of(m, at, at + head);
    a->metadata_heads += touched;
    a->metadata_untouched += head - touched;
    size_t free_in_runs = 0;
    for (unsigned i = HEAD_RUNS; i < RUNS_A_WINDOW; i++) {
        unsigned bin = w->slot[i];
        if (bin >= RUN_BINS)
            continue;
        free_in_runs += add_run(a, &classes[bin], &w->run[i], bin);
        runs += RUN_SIZE;
    }
    a->live += minus(WINDOW, head + closed + free_pages + runs);
    if (m->residency != NULL) {
        ask_about(a, m, w, at);
    } else {
        size_t kept = a->free_kept - kept_before;
        a->free_resident += kept;
        a->free_purged += minus(free_pages + free_in_runs, kept);
    }
}

/* ---- caches ---- */

void account_tcache(struct account *a, const struct tcache *t, size_t count) {
    a->caches++;
    for (size_t bin = 0; bin < TCACHE_BINS; bin++) {
        size_t csz = MIN_CHUNK + bin * ALIGNMENT;
        if (bin >= TCACHE_SMALL_BINS)
            csz = size_max((size_t)1024 << (bin - TCACHE_SMALL_BINS), TCACHE_SMALL_MAX + ALIGNMENT);
        if (t->head[bin] != NULL)
            a->cached_threads += minus(count, t->room[bin]) * csz;
    }
}

void account_cpu_cache(struct account *a, struct class_account *classes, const struct cpu_cache *c) {
    a->caches++;
    for (unsigned bin = 0; bin < CACHE_BINS; bin++) {
        size_t n = cache_count(c, bin);
        if (bin < RUN_BINS) {
            classes[bin].cached += n;
            a->cached_threads += n * run_bin_size(bin);
        } else if (bin >= CACHE_BLOCKS) {
            a->cached_threads += n * align_up(block_bin_size(bin - CACHE_BLOCKS), os_facts.page);
        }
    }
}

static bool add_strays(struct account *a, const struct memory *m, const struct depot_view *depot) {
    enum { STRAYS_MAX = 1 << 20 };
    const struct cached *e = NULL;
    if (!m->read(m, depot->strays, &e, sizeof e))
        return false;
    for (size_t i = 0; e != NULL; i++) {
        struct cached copy;
        uint8_t bin;
        const struct run_window *w = window_of(e);
        if (i == STRAYS_MAX || !m->read(m, e, &copy, sizeof copy) ||
            !m->read(m, &w->slot[(uintptr_t)e >> RUN_SHIFT & (RUNS_A_WINDOW - 1)], &bin, sizeof bin) ||
            bin >= RUN_BINS)
            return false;
        a->cached_inboxes += run_bin_size(bin);
        e = (const struct cached *)(copy.masked_next ^ ((uintptr_t)&e->masked_next >> 12));
    }
    return true;
}

bool account_depot(struct account *a, struct class_account *classes, const struct memory *m,
                   const struct depot_view *depot) {
    if (depot->shelf_bytes > MIB || depot->object_bytes > 64 * MIB)
        return false;
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        size_t n;
        const char *shelf = (const char *)depot->shelves + bin * depot->shelf_bytes;
        if (!m->read(m, shelf + depot->count_at, &n, sizeof n) || n > depot->object_bytes / sizeof(void *) / RUN_BINS)
            return false;
        classes[bin].cached += n;
        a->cached_depot += n * run_bin_size(bin);
    }
    account_table(a, m, depot->shelves, RUN_BINS * depot->shelf_bytes);
    account_table(a, m, depot->objects, depot->object_bytes);
    return add_strays(a, m, depot);
}

/* ---- the rest ---- */

void account_own(struct account *a, const struct memory *m, const void *start, size_t bytes) {
    a->metadata_own += resident_of(m, (uintptr_t)start, (uintptr_t)start + bytes);
}

void account_table(struct account *a, const struct memory *m, const void *start, size_t bytes) {
    if (m->residency != NULL)
        account_own(a, m, start, bytes);
}

void account_add(struct account *a, const struct account *part) {
#define FIGURE(id, unit, help) a->id += part->id;
#include "report/figures.def"
#undef FIGURE
}

void account_close(struct account *a) {
    size_t cached = a->cached_threads + a->cached_depot + a->cached_inboxes;
    a->live = minus(a->live, cached);
    a->accessible = a->live + cached + a->pinned + a->free_resident + a->free_purged + a->metadata_heads +
                    a->metadata_own + a->metadata_untouched;
    a->resident = minus(a->accessible, a->free_purged + a->metadata_untouched + a->absent);
}
