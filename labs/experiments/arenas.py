"""Arenas: how many there are, which thread gets which, and what they reserve."""

from typing import Optional

from kit.lab import Case, Claim, Figure, Lab
from kit.programs import Measurement, total
from kit.wants import About, AtMost, shortened

# Why the profile default answers differently.
NO_ARENAS = {"default": (
    "runs belong to no thread: threads whose blocks lie in runs need no arena, and share one until they "
    "get in each other's way")}
DEEP = {"default": (
    "the thread's cache deepens where it is used much, up to 256 objects, and the rest waits in the depot")}
WITHOUT_ARENAS = {"default": (
    "runs belong to no arena: what went home is free for everybody")}

BLOCKS_BYTES = 64 * 4112  # what a thread of this lab allocates


def secondary(measured: Measurement) -> list:
    return [h for h in measured.heaps() if h.get("nr") != "0"]


def heap_systems(measured: Measurement) -> list[Optional[int]]:
    return [total(h, "system", "current") for h in measured.heaps()]


arenas_counted = Lab(
    name="arenas-counted",
    question="How many arenas does a threaded program have?",
    text="""Eight threads, one after another, get an arena, then allocate and write 64 blocks of 4096 bytes each and keep
    them. The arenas are counted in the memory map, where a sub-heap is what reaches from one 64 MiB boundary to the
    next, and in what malloc_info writes. Then again with arena_max=2.""",
    pages_of_4k=True,
    cases=[Case("default", "arenas", args=[8]), Case("arena_max=2", "arenas", args=[8], env={"MALLOC_ARENA_MAX": "2"})],
    figures=[
        Figure("KiB readable and writable in each sub-heap", lambda m: m["default"]["subheap_kib"], "8 × 260"),
        Figure("virtual KiB", lambda m: m["default"]["all.vsz"]),
        Figure("resident KiB", lambda m: m["default"]["all.rss"]),
        Figure("arena_max=2: bytes of each arena", lambda m: heap_systems(m["arena_max=2"]), "1,081,344 1,056,768"),
    ],
    claims=[
        Claim("eight sub-heaps, one a thread", lambda m: m["default"]["subheaps"], 8, by_design=NO_ARENAS),
        Claim("260 KiB of each are readable and writable", lambda m: m["default"]["subheap_kib"], [260] * 8,
              by_design=NO_ARENAS),
        Claim("malloc_info lists nine arenas, the main one among them", lambda m: len(m["default"].heaps()), 9,
              by_design=NO_ARENAS),
        Claim("only the main one has no line about sub-heaps, the others have one sub-heap each",
              lambda m: [total(h, "aspace", "subheaps") or 0 for h in m["default"].heaps()], [0] + [1] * 8,
              by_design=NO_ARENAS),
        Claim("each secondary arena has 266,240 bytes from the system",
              lambda m: heap_systems(m["default"])[1:], [266240] * 8, by_design=NO_ARENAS),
        Claim("and its free memory is one chunk, smaller than a page",
              lambda m: [(total(h, "total", "rest", "count"), total(h, "total", "rest") < 4096)
                         for h in secondary(m["default"])], [(1, True)] * 8, by_design=NO_ARENAS),
        Claim("the whole process: bytes from the system", lambda m: total(m["default"].xml["info"], "system", "current"),
              2265088, by_design=NO_ARENAS),
        Claim("and nine free chunks, one an arena",
              lambda m: total(m["default"].xml["info"], "total", "rest", "count"), 9, by_design=NO_ARENAS),
        Claim("the arenas add up to it",
              lambda m: sum(heap_systems(m["default"])) == total(m["default"].xml["info"], "system", "current"), True,
              by_design=NO_ARENAS),
        Claim("arena_max=2: one sub-heap, the main arena counts", lambda m: m["arena_max=2"]["subheaps"], 1,
              by_design=NO_ARENAS),
        Claim("arena_max=2: malloc_info lists two arenas", lambda m: len(m["arena_max=2"].heaps()), 2,
              by_design=NO_ARENAS),
        Claim("arena_max=2: the eight threads are spread evenly, four in each (bytes)",
              lambda m: heap_systems(m["arena_max=2"])[1], About(4 * BLOCKS_BYTES, plus_minus=12288),
              by_design=NO_ARENAS),
        Claim("arena_max=2: the whole process, bytes from the system",
              lambda m: total(m["arena_max=2"].xml["info"], "system", "current"), About(2138112, plus_minus=8192),
              by_design=NO_ARENAS),
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
    pages_of_4k=True,
    cases=[Case("run", "prefix")],
    figures=[
        Figure("virtual KiB added by the thread", lambda m: m["run"]["virtual_grown_kib"]),
        Figure("resident KiB of the whole process", lambda m: m["run"]["resident_kib"]),
    ],
    claims=[
        Claim("the block lies in a secondary arena", lambda m: m["run"]["secondary"], 1, by_design=NO_ARENAS),
        Claim("132 KiB are readable and writable", lambda m: [m["run"]["prefix_permissions"], m["run"]["prefix"]],
              ["rw-p", 135168], by_design=NO_ARENAS),
        Claim("what follows cannot be touched", lambda m: [m["run"]["tail_follows"], m["run"]["tail_permissions"]],
              [1, "---p"], by_design=NO_ARENAS),
        Claim("it ends on the next 64 MiB boundary", lambda m: m["run"]["tail_ends_on_boundary"], 1, by_design=NO_ARENAS),
        Claim("together they are 64 MiB", lambda m: m["run"]["prefix"] + m["run"]["tail"], 64 * 2**20,
              by_design=NO_ARENAS),
    ],
    reading="""The rest is reserved address space: no memory, and not even a promise of memory. It shows in the virtual
    size, which is why a program with many threads looks enormous there. The boundary is what makes free cheap: the
    sub-heap of any chunk, and with it the arena and its lock, is the pointer with its low 26 bits cleared.""",
)

arena_lifecycle = Lab(
    name="arena-lifecycle",
    question="What is left of the arenas of ten thousand threads?",
    text="""10,000 threads, four at a time: the four of a wave are alive together, each with a block in its hand, and
    gone before the next four start. Sub-heaps are counted after the first wave, halfway and at the end.""",
    cases=[Case("run", "churn", args=[10000, 4], quick=[4000, 4])],
    figures=[
        Figure("threads", lambda m: m["run"]["threads"]),
        Figure("resident KiB after the first wave, at the end",
               lambda m: [m["run"]["first_wave.rss"], m["run"]["end.rss"]]),
    ],
    claims=[
        Claim("the first four threads have an arena each", lambda m: m["run"]["subheaps_after_first_wave"], 4,
              by_design=NO_ARENAS),
        Claim("halfway there are no more", lambda m: m["run"]["subheaps_halfway"], 4, by_design=NO_ARENAS),
        Claim("and at the end neither: their number is the peak of threads alive at once",
              lambda m: m["run"]["subheaps_at_end"], 4, by_design=NO_ARENAS),
        Claim("resident memory has not grown (KiB)", lambda m: m["run"]["end.rss"] - m["run"]["first_wave.rss"],
              AtMost(256)),
    ],
    reading="""The last thread to leave an arena parks it, whole and warm, and the next thread that needs one takes it
    over. Ten thousand threads cost four arenas; but what a thread left free in its arena stays there until another
    thread comes, and nobody else can use it.""",
)


def sharers(measured: Measurement) -> list[int]:
    """For every arena, how many threads beyond the limit were given it."""
    limit, arenas = measured["limit"], measured["arena_of_thread"]
    late = arenas[limit - 1:]  # the main thread has the first arena
    return [late.count(number) for number in range(limit)]


sticky_arena = Lab(
    name="sticky-arena",
    question="Which arena does a thread get, and can it get another one?",
    text="""24 more threads than 8 times the CPUs are started one after another and stay alive. Each allocates once,
    then, all at the same time, 400 times; every block is too large for the cache, and the sub-heap it lies in is its
    address with the low bits cleared.""",
    cases=[Case("run", "sharing")],
    figures=[
        Figure("CPUs, threads, sub-heaps", lambda m: [m["run"][k] for k in ("cpus", "threads", "subheaps")], "2 40 15"),
        Figure("arena of each thread, 0 is the main one", lambda m: shortened(m["run"]["arena_of_thread"])),
    ],
    claims=[
        Claim("there are 8 arenas a CPU, the main one included",
              lambda m: m["run"]["subheaps"] + 1 == m["run"]["limit"], True, by_design=NO_ARENAS),
        Claim("until then every thread gets one of its own",
              lambda m: len(set(m["run"]["arena_of_thread"][:m["run"]["limit"] - 1])) == m["run"]["limit"] - 1
              and 0 not in m["run"]["arena_of_thread"][:m["run"]["limit"] - 1], True, by_design=NO_ARENAS),
        Claim("the next one shares: it is given the main arena",
              lambda m: m["run"]["arena_of_thread"][m["run"]["limit"] - 1], 0),
        Claim("later ones go round: no arena has two more of them than another",
              lambda m: max(sharers(m["run"])) - min(sharers(m["run"])), AtMost(1), by_design=NO_ARENAS),
        Claim("threads that ever allocated outside their first arena", lambda m: m["run"]["threads_that_moved"], 0),
    ],
    reading="""The choice is made once, and how busy the arenas turn out to be afterwards does not matter. Two busy
    threads that share an arena go on sharing it, however many idle ones there are.""",
)


def producers_heap(measured: Measurement, step: str):
    """The producer's arena is the secondary one that is largest once it has produced; arenas keep their place."""
    produced = measured.heaps("produced")
    place = max(range(1, len(produced)), key=lambda i: total(produced[i], "system", "current"))
    return measured.heaps(step)[place]


def in_use(measured: Measurement, step: str) -> int:
    heap = producers_heap(measured, step)
    free = sum(total(heap, "total", kind) or 0 for kind in ("fast", "rest"))
    return total(heap, "system", "current") - free


def cached_blocks(measured: Measurement) -> int:
    return sum(which >= 0 for which in measured["consumer_again.which"])


HANDED_CHUNK = 208

cross_thread_free = Lab(
    name="cross-thread-free",
    question="Where does memory go that another thread frees?",
    text="""A producer allocates 1,000 blocks of 200 bytes and a consumer frees them all. Then the consumer allocates
    40 such blocks, frees them and ends, and the producer allocates 40. Every block is traced back to the arena it lies
    in, and what the producer's arena counts as in use is taken from malloc_info.""",
    cases=[Case("run", "handover")],
    figures=[
        Figure("blocks the consumer is given back, in order",
               lambda m: [w for w in m["run"]["consumer_again.which"] if w >= 0], "15 14 13 ... 0"),
        Figure("bytes in use in the producer's arena: produced, consumed, consumer gone",
               lambda m: [in_use(m["run"], step) for step in ("produced", "consumed", "consumer_gone")]),
    ],
    claims=[
        Claim("the two threads have arenas of their own", lambda m: m["run"]["arenas_differ"], 1, by_design=NO_ARENAS),
        Claim("the first 16 freed stay in the consumer's cache and come back to it in reverse",
              lambda m: m["run"]["consumer_again.which"], [*range(15, -1, -1), *[-1] * 24],
              older=[*range(6, -1, -1), *[-1] * 33], by_design=DEEP),
        Claim("they still lie in the producer's arena, the other 24 in its own",
              lambda m: [m["run"]["consumer_again.in_producers_arena"], m["run"]["consumer_again.in_consumers_arena"]],
              [16, 24], older=[7, 33], by_design=DEEP),
        Claim("all others went home: chunks the producer's arena got back",
              lambda m: (in_use(m["run"], "produced") - in_use(m["run"], "consumed")) / HANDED_CHUNK, 984, older=993,
              by_design=WITHOUT_ARENAS),
        Claim("the cached ones go home when the consumer ends",
              lambda m: (in_use(m["run"], "consumed") - in_use(m["run"], "consumer_gone")) / HANDED_CHUNK, 16,
              older=7, by_design=WITHOUT_ARENAS),
        Claim("the producer is served from its own arena", lambda m: m["run"]["producer_again.in_producers_arena"], 40),
    ],
    reading="""A freed block goes to the cache of whoever frees it, up to that cache's depth, and from there back to the
    arena it came from, under that arena's lock. A consumer that frees forever thus takes the producer's lock for
    every block, and the producer finds its memory in the bins and not in its cache.""",
)
