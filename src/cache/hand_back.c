#include "cache/hand_back.h"

#include "arena/arenas.h"
#include "arena/mapped.h"
#include "arena/release.h"
#include "options/threshold.h"

static SLOW void hand_back_mapped(struct chunk *c) {
    if (UNLIKELY(!mapped_plausible(c)))
        die(MSG_MUNMAP, mem_of_chunk(c), chunk_head(c));
    thresholds_learn(chunk_size(c));
    mapped_free(c);
}

void hand_back(struct chunk *c) {
    if (is_mapped(c)) {
        hand_back_mapped(c);
        return;
    }
    struct arena *a = arena_of_chunk(c);
    if (UNLIKELY(a == NULL))
        die(MSG_FREE_POINTER, mem_of_chunk(c), chunk_head(c));
    if (LIKELY(arena_enter(a))) {
        arena_free(a, c, chunk_size(c));
        arena_leave(a);
    } else {
        arena_post(a, c);
    }
}
