"""Every lab, in the order of the guide: as a reader who knows no allocator takes them."""

from .arenas import (arena_lifecycle, arenas_counted, cross_thread_free, secondary_prefix, sticky_arena)
from .backends import (backends_mallinfo, frozen_threshold, syscall_trace, top_pad, wall_above_break)
from .basics import (address_space, chunk_headers, cost_of_a_call, demand_paging, thousand_mallocs)
from .giving_back import (empty_subheap, free_alone, trim_and_fragments, ways_of_giving_back)
from .tcache import (double_free, no_fastbins, tcache_and_locks, tcache_depth, tcache_holds_back)
from .toys import toys, toys_compared

LABS = (
    toys,
    thousand_mallocs,
    address_space,
    cost_of_a_call,
    chunk_headers,
    demand_paging,
    syscall_trace,
    backends_mallinfo,
    top_pad,
    frozen_threshold,
    wall_above_break,
    free_alone,
    trim_and_fragments,
    ways_of_giving_back,
    arenas_counted,
    secondary_prefix,
    empty_subheap,
    arena_lifecycle,
    sticky_arena,
    cross_thread_free,
    tcache_depth,
    tcache_and_locks,
    tcache_holds_back,
    double_free,
    no_fastbins,
    toys_compared,
)
