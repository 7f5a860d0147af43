"""Arenas: how many there are, which thread gets which, and what they reserve."""

from typing import Optional

from kit.lab import Case, Claim, Figure, Lab
from kit.programs import Measurement, total
from kit.wants import About, AtMost

BLOCKS_BYTES = 64 * 4112  # what a thread of this lab allocates


def secondary(measured: Measurement) -> list:
    return [h for h in measured.heaps() if h.get("nr") != "0"]


def heap_systems(measured: Measurement) -> list[Optional[int]]:
    return [total(h, "system", "current") for h in measured.heaps()]


arenas_counted = Lab(
    name="arenas-counted",
    question="How many arenas does a threaded program have?",
    text="""Eight threads, one after another, allocate and write 64 blocks of 4096 bytes each and keep them. The arenas
    are counted in the memory map, where a sub-heap is the only anonymous mapping that begins on a 64 MiB boundary, and
    in what malloc_info writes. Then again with arena_max=2.""",
    cases=[Case("default", "arenas", args=[8]), Case("arena_max=2", "arenas", args=[8], env={"MALLOC_ARENA_MAX": "2"})],
    figures=[
        Figure("KiB readable and writable in each sub-heap", lambda m: m["default"]["subheap_kib"], "8 × 260"),
        Figure("virtual KiB", lambda m: m["default"]["all.vsz"]),
        Figure("resident KiB", lambda m: m["default"]["all.rss"]),
        Figure("arena_max=2: bytes of each arena", lambda m: heap_systems(m["arena_max=2"]), "1,081,344 1,056,768"),
    ],
    claims=[
        Claim("eight sub-heaps, one a thread", lambda m: m["default"]["subheaps"], 8),
        Claim("260 KiB of each are readable and writable", lambda m: m["default"]["subheap_kib"], [260] * 8),
        Claim("malloc_info lists nine arenas, the main one among them", lambda m: len(m["default"].heaps()), 9),
        Claim("only the main one has no line about sub-heaps, the others have one sub-heap each",
              lambda m: [total(h, "aspace", "subheaps") or 0 for h in m["default"].heaps()], [0] + [1] * 8),
        Claim("each secondary arena has 266,240 bytes from the system",
              lambda m: heap_systems(m["default"])[1:], [266240] * 8),
        Claim("and its free memory is one chunk, smaller than a page",
              lambda m: [(total(h, "total", "rest", "count"), total(h, "total", "rest") < 4096)
                         for h in secondary(m["default"])], [(1, True)] * 8),
        Claim("the whole process: bytes from the system", lambda m: total(m["default"].xml, "system", "current"),
              2265088),
        Claim("the arenas add up to it",
              lambda m: sum(heap_systems(m["default"])) == total(m["default"].xml, "system", "current"), True),
        Claim("arena_max=2: one sub-heap, the main arena counts", lambda m: m["arena_max=2"]["subheaps"], 1),
        Claim("arena_max=2: malloc_info lists two arenas", lambda m: len(m["arena_max=2"].heaps()), 2),
        Claim("arena_max=2: the eight threads are spread evenly, four in each (bytes)",
              lambda m: heap_systems(m["arena_max=2"])[1], About(4 * BLOCKS_BYTES, plus_minus=12288)),
        Claim("arena_max=2: the whole process, bytes from the system",
              lambda m: total(m["arena_max=2"].xml, "system", "current"), About(2138112, plus_minus=8192)),
    ],
    reading="""A thread gets its arena with its first allocation that the cache cannot serve, not when it meets a busy
    lock. The arenas here hold live data only, so fewer of them save little; what fewer arenas save is *free* memory,
    which each arena keeps for its own threads.""",
)

secondary_prefix = Lab(
    name="secondary-prefix",
    question="How much of a secondary arena's 64 MiB is memory?",
    text="""One thread allocates one block of 64 bytes; the two mappings of its sub-heap are read from the memory
    map.""",
    cases=[Case("run", "prefix")],
    figures=[
        Figure("virtual KiB added by the thread", lambda m: m["run"]["virtual_grown_kib"]),
        Figure("resident KiB of the whole process", lambda m: m["run"]["resident_kib"]),
    ],
    claims=[
        Claim("the block lies in a secondary arena", lambda m: m["run"]["secondary"], 1),
        Claim("132 KiB are readable and writable", lambda m: [m["run"]["prefix_permissions"], m["run"]["prefix"]],
              ["rw-p", 135168]),
        Claim("what follows cannot be touched", lambda m: [m["run"]["tail_follows"], m["run"]["tail_permissions"]],
              [1, "---p"]),
        Claim("it ends on the next 64 MiB boundary", lambda m: m["run"]["tail_ends_on_boundary"], 1),
        Claim("together they are 64 MiB", lambda m: m["run"]["prefix"] + m["run"]["tail"], 64 * 2**20),
    ],
    reading="""The rest is reserved address space: no memory, and not even a promise of memory. It shows in the virtual
    size, which is why a program with many threads looks enormous there. The boundary is what makes free cheap: the
    sub-heap of any chunk, and with it the arena and its lock, is the pointer with its low 26 bits cleared.""",
)

LABS = (arenas_counted, secondary_prefix)
