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

static const char *check_window(struct run_window *w, const void **where) {
    *where = w;
    size_t pages = pages_a_window();
    if (!is_subset(w->resident, w->free) || !is_subset(w->recent, w->resident) ||
        !is_subset(w->closed, w->free))
        return "pages that are not free count as resident, recent or closed";
    for (size_t i = 0; i < PAGE_WORDS; i++)
        if ((w->resident[i] & w->closed[i]) != 0)
            return "a page that is not accessible counts as resident";
    if (bits_count(w->free, 0, pages) != w->free_pages ||
        bits_count(w->resident, 0, pages) != w->resident_pages)
        return "a window's pages do not add up";
    for (size_t n = 1; n <= PLACE_EXACT; n++)
        if (bits_find(w->free, 0, pages, n, 1) < w->free_places.from[n - 1] ||
            bits_find(w->resident, 0, pages, n, 1) < w->resident_places.from[n - 1])
            return "there are free pages where none are looked for";
    size_t a_slot = whole_pages_in(RUN_SIZE);
    if (bits_find(w->free, 0, pages, a_slot, a_slot) < w->free_places.from[PLACE_SLOT])
        return "there is a free slot where none is looked for";
    size_t a_group = whole_pages_in(GROUP);
    for (size_t g = 0; g < GROUPS_A_WINDOW; g++)
        if (bits_count(w->free, g * a_group, a_group) != w->group[g].free_pages)
            return "a group's pages do not add up";
    return check_owners(w, where);
}

const char *space_check(const void **where) {
    size_t resident = 0;
    size_t in_use = 0;
    for (int kind = 0; kind < SPACE_KINDS; kind++) {
        for (struct run_window *w = space_windows[kind].oldest; w != NULL; w = w->newer) {
            const char *wrong = check_window(w, where);
            if (wrong != NULL)
                return wrong;
            resident += w->resident_pages * os_facts.page;
            in_use += WINDOW - HEAD_RUNS * RUN_SIZE - w->free_pages * os_facts.page;
        }
    }
    *where = NULL;
    if (resident != space_totals.resident_free || in_use != space_totals.in_use)
        return "the windows' pages do not add up";
    return NULL;
}
