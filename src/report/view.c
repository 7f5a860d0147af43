#include "report/view.h"

#include "life/start.h"

const struct rung_view rung_view = {
    .magic = VIEW_MAGIC,
    .version = RUNG_VERSION,
    .view_bytes = sizeof(struct rung_view),
    .layout = VIEW_LAYOUT_NUMBERS,
    .started = &started,
    .facts = &os_facts,
    .main_arena = &main_arena,
    .main_pieces = &main_pieces,
    .windows = space_windows,
    .records = thread_records,
    .tcache_inactive = &tcache_inactive,
    .tcache_disabled = &tcache_disabled,
    .cpu_caches = &cpu_caches,
    .depot = &depot_view,
    .meta = &meta_blocks,
    .window_uses = window_uses,
    .counters = counters,
    .options = option_values,
    .option_origins = option_origins,
    .profile = &option_profile_in_use,
};
