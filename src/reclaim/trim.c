#include "reclaim/trim.h"

#include "arena/arenas.h"
#include "arena/mapped_cache.h"
#include "arena/purge.h"
#include "arena/top.h"
#include "cache/cpu_cache.h"
#include "cache/depot.h"
#include "guard/assert.h"
#include "os/os.h"
#include "runs/purge.h"
#include "runs/run.h"
#include "runs/space.h"

/* The pages that lie wholly within a free chunk's unused part: behind its links, and up to its
   boundary tag, which is its successor's first word. */
static bool purge_chunk(struct chunk *c) {
    char *from = ptr_align_up((char *)c + sizeof *c, os_facts.page);
    char *to = ptr_align_down(chunk_next(c), os_facts.page);
    return from < to && os_purge(from, (size_t)(to - from));
}

static bool purge_bin(struct link *head) {
    bool gave = false;
    for (struct link *l = head->prev; l != head; l = l->prev)
        gave |= purge_chunk(chunk_of_link(l));
    return gave;
}

bool trim_arena(struct arena *a, size_t pad) {
    assert_argument(lock_is_mine(&a->lock));
    if (a->purges) { /* it is known what may be resident */
        bool gave = purge_all_pages(a);
        return top_trim(a, pad) || gave;
    }
    bool gave = purge_bin(unsorted(&a->bins));
    for (unsigned i = bin_of_size(os_facts.page); i < BIN_COUNT; i++)
        gave |= purge_bin(bin_head(&a->bins, i));
    return top_trim(a, pad) || gave;
}

bool trim_everything(size_t pad) {
    caches_ask_to_empty();
    caches_empty_here();
    depot_empty();
    bool gave = mapped_cache_empty();
    gave |= runs_purge_idle();
    gave |= purge_free_pages(0);
    gave |= space_drop_empty();
    struct arena *a = &main_arena;
    do {
        if (arena_enter(a)) {
            gave |= trim_arena(a, pad);
            arena_leave(a);
        }
        a = arena_next(a);
    } while (a != &main_arena);
    return gave;
}
