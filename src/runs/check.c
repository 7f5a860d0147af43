/* Looks whether runs and windows are what they should be. */
#include "runs/check.h"

#include "guard/lock.h"
#include "runs/size_class.h"
#include "runs/space.h"

size_t run_count_free(struct run *r) {
    size_t n = 0;
    size_t objects = RUN_SIZE / run_bin_size(r->bin);
#define COUNT(word, mask) n += (size_t)__builtin_popcountll(*object_word(r, word) & (mask))
    BITS_EACH_WORD((size_t)0, objects, COUNT)
#undef COUNT
    return n;
}

/* ---- windows ---- */

static bool is_subset(const uint64_t *part, const uint64_t *whole) {
    for (size_t i = 0; i < PAGE_WORDS; i++)
        if ((part[i] & ~whole[i]) != 0)
            return false;
    return true;
}

/* Every page that is not free belongs to the head, to a run or to a block. */
static const char *check_owners(struct run_window *w, const void **where) {
    size_t a_slot = whole_pages_in(RUN_SIZE);
    for (size_t page = HEAD_RUNS * a_slot; page < pages_a_window();) {
        *where = page_start(w, page);
        size_t n = 1;
        bool run = w->slot[page / a_slot] != SLOT_PAGES;
        if (run)
            n = a_slot;
        else if ((w->block_pages[page] & 0x7fff) != 0)
            n = w->block_pages[page] & 0x7fff;
        else if (!bit_get(w->free, page) && single_threaded()) /* others' blocks are on their way */
            return "a page belongs to nobody and is not free";
        if ((run || w->block_pages[page] != 0) && bits_count(w->free, page, n) != 0)
            return "a page of a run or a block is free";
        page += n;
    }
    return NULL;
}

static const char *check_places(struct run_window *w) {
    size_t pages = pages_a_window();
    size_t a_slot = whole_pages_in(RUN_SIZE);
    if (!place_is_sound(&w->free_places, w->free, pages, a_slot) ||
        !place_is_sound(&w->resident_places, w->resident, pages, a_slot))
        return "there are free pages where none are looked for";
    return NULL;
}

/* *idle: bytes of idle pages in the window's runs. */
static const char *check_groups(struct run_window *w, size_t *idle) {
    size_t a_group = whole_pages_in(GROUP);
    size_t known[GROUPS_A_WINDOW] = {0};
    for (size_t i = HEAD_RUNS; i < RUNS_A_WINDOW; i++) {
        if (w->slot[i] == SLOT_PAGES)
            continue;
        const struct run *r = &w->run[i];
        known[i * RUN_SIZE >> GROUP_SHIFT] += (size_t)__builtin_popcount(r->idle | r->gone);
        *idle += (size_t)__builtin_popcount(r->idle) * os_facts.page;
    }
    for (size_t g = 0; g < GROUPS_A_WINDOW; g++) {
        if (bits_count(w->free, g * a_group, a_group) != w->group[g].free_pages)
            return "a group's pages do not add up";
        if (known[g] != atomic_load_explicit(&w->group[g].idle, memory_order_relaxed))
            return "the idle pages of a group's runs do not add up";
    }
    return NULL;
}

static const char *check_window(struct run_window *w, const void **where) {
    *where = w;
    size_t pages = pages_a_window();
    if (!is_subset(w->resident, w->free) || !is_subset(w->recent, w->resident) ||
        !is_subset(w->closed, w->free))
        return "pages that are not free count as resident, recent or closed";
    for (size_t i = 0; i < PAGE_WORDS; i++)
        if ((w->resident[i] & w->closed[i]) != 0)
            return "a page that is not accessible counts as resident";
    if (bits_count(w->free, 0, HEAD_RUNS * whole_pages_in(RUN_SIZE)) != 0)
        return "a page of a window's head is free";
    if (bits_count(w->free, 0, pages) != w->free_pages ||
        bits_count(w->resident, 0, pages) != w->resident_pages)
        return "a window's pages do not add up";
    const char *wrong = check_places(w);
    return wrong != NULL ? wrong : check_owners(w, where);
}

static const char *check_list(const struct run_window *w, int kind) {
    const struct space_windows *all = &space_windows[kind];
    if ((w->older != NULL ? w->older->newer : all->oldest) != w ||
        (w->newer != NULL ? w->newer->older : all->newest) != w)
        return "a window's neighbours do not know it";
    if (w->kind != kind || !in_run_window(w))
        return "a window is in the wrong list";
    return NULL;
}

/* Adds up in t and *idle what w has. */
static const char *add_window(struct run_window *w, struct space_totals *t, size_t *idle) {
    t->windows++;
    t->heads += HEAD_RUNS * RUN_SIZE;
    t->resident_free += w->resident_pages * os_facts.page;
    t->in_use += WINDOW - HEAD_RUNS * RUN_SIZE - w->free_pages * os_facts.page;
    t->system += WINDOW - bits_count(w->closed, 0, pages_a_window()) * os_facts.page;
    return check_groups(w, idle);
}

const char *space_check(const void **where) {
    struct space_totals t = {0};
    size_t idle = 0;
    for (int kind = 0; kind < SPACE_KINDS; kind++) {
        for (struct run_window *w = space_windows[kind].oldest; w != NULL; w = w->newer) {
            *where = w;
            const char *wrong = check_list(w, kind);
            if (wrong == NULL)
                wrong = check_window(w, where);
            if (wrong == NULL)
                wrong = add_window(w, &t, &idle);
            if (wrong != NULL)
                return wrong;
        }
    }
    *where = NULL;
    if (t.resident_free != space_totals.resident_free || t.in_use != space_totals.in_use ||
        t.system != space_totals.system || t.heads != space_totals.heads ||
        t.windows != space_totals.windows)
        return "the windows' pages do not add up";
    if (idle != atomic_load_explicit(&runs_idle, memory_order_relaxed))
        return "the idle pages of all runs do not add up";
    return NULL;
}
