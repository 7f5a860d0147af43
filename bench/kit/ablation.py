"""What each mechanism of Rung's default profile is worth: it is switched off, everything else stays."""

from . import contenders

EVERYTHING = "all on"
# What is said of it, and the settings that switch it off.
MECHANISMS = {
    "runs": ("small objects without headers, with all that builds on them", "runs=off"),
    "large blocks": ("blocks of up to 32 MiB in whole pages of the windows of runs", "run_block_max=0"),
    "thread cache": ("freed objects a thread keeps for itself", "tcache_count=0"),
    "deepening": ("bins of the thread's cache that grow where they are used much", "tcache_depth_max=16"),
    "budget": ("how far all bins of one thread may deepen together", "tcache_budget=0"),
    "depot": ("full bundles that wait for another thread", "depot_bytes=0"),
    "arenas on demand": ("an arena only for a thread that waited for its lock", "arena_on_demand=off"),
    "populate": ("pages of small objects made resident four at a time", "run_populate=0"),
    "huge pages": ("runs on huge pages once the heap is large", "run_huge_from=0"),
    "purge by age": ("free memory that nobody wanted for a second goes back", "purge_delay=0"),
    "kept runs": ("empty runs that stay resident", "run_keep=0"),
}


def choose(library):
    """The contenders: everything on, which is the base, and one without each mechanism."""
    full = contenders.FULL.removeprefix("rung:")
    chosen = {EVERYTHING: contenders.rung(full, library, EVERYTHING)}
    for mechanism, (_, settings) in MECHANISMS.items():
        name = f"without {mechanism}"
        chosen[name] = contenders.rung(f"{full},{settings}", library, name)
    return chosen
