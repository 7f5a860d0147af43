#include "runs/block.h"

#include "runs/run.h"
#include "runs/space.h"

static uint16_t *pages_of(const void *mem) {
    struct run_window *w = window_of(mem);
    return &w->block_pages[page_number(mem)];
}

static size_t whole_pages(size_t req) {
    return align_up(size_max(req, 1), os_facts.page);
}

void *block_take(size_t req, size_t align, bool *zero) {
    if (req > BLOCK_MAX || align > BLOCK_MAX)
        return NULL;
    size_t bytes = whole_pages(req);
    enum page_state state = PAGES_RESIDENT;
    char *start = space_take(SPACE_LARGE, bytes, size_max(align, os_facts.page), &state);
    *zero = state == PAGES_ZERO;
    if (start != NULL)
        *pages_of(start) = (uint16_t)whole_pages_in(bytes);
    return start;
}

/* In what block_pages says of a block. */
#define MARKED 0x8000

/* Replaces what is said of a block whose mark is `marked`.  In one step: of two that free the same block one
   finds it gone.  Returns its pages; 0: there is no such block. */
static size_t replace(void *mem, bool marked, uint16_t with) {
    if (!ptr_is_aligned(mem, os_facts.page))
        return 0;
    uint16_t *pages = pages_of(mem);
    uint16_t said = __atomic_load_n(pages, __ATOMIC_RELAXED);
    do {
        if (said == 0 || ((said & MARKED) != 0) != marked)
            return 0;
    } while (!__atomic_compare_exchange_n(pages, &said, with == MARKED ? said ^ MARKED : with, true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return said & ~(size_t)MARKED;
}

bool block_give(void *mem) {
    size_t pages = replace(mem, false, 0);
    if (pages == 0)
        return false;
    space_give(mem, pages * os_facts.page, 0);
    return true;
}

bool block_mark(void *mem) {
    return replace(mem, false, MARKED) != 0;
}

void block_unmark(void *mem) {
    *pages_of(mem) ^= MARKED;
}

void block_give_marked(void *mem) {
    space_give(mem, replace(mem, true, 0) * os_facts.page, 0);
}

size_t block_marked_size(const void *mem) {
    uint16_t pages = ptr_is_aligned(mem, os_facts.page) ? *pages_of(mem) : 0;
    return (pages & MARKED) != 0 ? (pages & ~(size_t)MARKED) * os_facts.page : 0;
}

size_t blocks_count_marked(void) {
    size_t n = 0;
    if (!lock_take(&space_lock))
        return SIZE_MAX;
    for (int kind = 0; kind < SPACE_KINDS; kind++)
        for (struct run_window *w = space_windows[kind].oldest; w != NULL; w = w->newer)
            for (size_t page = 0; page < pages_a_window(); page++)
                n += (w->block_pages[page] & MARKED) != 0;
    lock_release(&space_lock);
    return n;
}

bool block_resize(void *mem, size_t req) {
    if (req > BLOCK_MAX)
        return false;
    size_t have = block_size(mem);
    size_t bytes = whole_pages(req);
    if (bytes > have && !space_extend(mem, have, bytes - have))
        return false;
    *pages_of(mem) = (uint16_t)whole_pages_in(bytes);
    if (bytes < have)
        space_give((char *)mem + bytes, have - bytes, 0);
    return true;
}

size_t block_size(const void *mem) {
    uint16_t pages = ptr_is_aligned(mem, os_facts.page) ? *pages_of(mem) : MARKED;
    return (pages & MARKED) == 0 ? pages * os_facts.page : 0;
}

size_t headless_size(const void *mem) {
    if (run_bin_of(mem) == SLOT_PAGES)
        return block_size(mem);
    return run_object_plausible(mem) ? run_object_size(mem) : 0;
}

bool headless_is_free(const void *mem) {
    struct run_window *w = window_of(mem);
    return bit_get(w->free, page_number(mem)) || (w->block_pages[page_number(mem)] & MARKED) != 0;
}
