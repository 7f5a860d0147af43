#include "life/attend.h"

#include <errno.h>
#include <stdbool.h>

#include "arena/arenas.h"
#include "cache/cpu_cache.h"
#include "cache/depot.h"
#include "chunk/footprint.h"
#include "chunk/meta.h"
#include "life/purge_thread.h"
#include "life/thread.h"
#include "reclaim/limit.h"
#include "runs/run.h"

static void note_mine(struct lock *l, void *any) {
    *(bool *)any |= lock_is_mine(l);
}

/* Whether this is a signal handler that interrupted its thread in a locked region. */
static bool holds_a_lock(void) {
    bool any = lock_is_mine(&records_lock) || lock_is_mine(&arenas_lock) || lock_is_mine(&meta_lock);
    struct arena *a = &main_arena;
    do {
        any |= lock_is_mine(&a->lock);
        a = arena_next(a);
    } while (a != &main_arena);
    caches_each_lock(note_mine, &any);
    depot_each_lock(note_mine, &any);
    runs_each_lock(note_mine, &any);
    return any;
}

COLD void attend_slow(void) {
    uint8_t due = self.due;
    if ((due & (DUE_BUSY | DUE_AGAIN)) != 0 || holds_a_lock())
        return;
    int saved = errno;
    self.due = DUE_BUSY;
    if ((due & DUE_SOFT_LIMIT) != 0)
        limit_exceeded();
    if ((due & DUE_PURGE_THREAD) != 0)
        (void)purge_thread_start();
    self.due = 0;
    errno = saved;
}
