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
        *pages_of(start) = (uint16_t)(bytes / os_facts.page);
    return start;
}

bool block_give(void *mem) {
    if (!ptr_is_aligned(mem, os_facts.page))
        return false;
    /* In one step: of two that free the same block one finds it gone. */
    size_t pages = __atomic_exchange_n(pages_of(mem), 0, __ATOMIC_RELAXED);
    if (pages == 0)
        return false;
    space_give(mem, pages * os_facts.page, 0);
    return true;
}

bool block_resize(void *mem, size_t req) {
    if (req > BLOCK_MAX)
        return false;
    size_t have = block_size(mem);
    size_t bytes = whole_pages(req);
    if (bytes > have && !space_extend(mem, have, bytes - have))
        return false;
    *pages_of(mem) = (uint16_t)(bytes / os_facts.page);
    if (bytes < have)
        space_give((char *)mem + bytes, have - bytes, 0);
    return true;
}

size_t block_size(const void *mem) {
    return ptr_is_aligned(mem, os_facts.page) ? *pages_of(mem) * os_facts.page : 0;
}

size_t headless_size(const void *mem) {
    if (run_bin_of(mem) == SLOT_PAGES)
        return block_size(mem);
    return run_object_plausible(mem) ? run_object_size(mem) : 0;
}

bool headless_is_free(const void *mem) {
    struct run_window *w = window_of(mem);
    return bit_get(w->free, page_number(mem));
}
