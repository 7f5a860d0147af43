"""The thread's cache: how deep it is, what it saves, what it holds back, and what it does not see."""

from kit.allocators import Allocator
from kit.lab import Case, Claim, Figure, Lab, Measured
from kit.programs import Bench, Measurement, total
from kit.wants import About, AtLeast, AtMost, shortened

from . import drawings

# Why the profile default answers differently.
DEEP = {"default": (
    "a size that is used much deepens, from tcache_count up to 256 objects, and runs hand out the lowest "
    "addresses first")}
HELD = {"default": (
    "a cache that deepens may hold 2 MiB more, of blocks of up to 256 KiB, and tcache_max is not asked")}
EVERY_THREAD = {"default": (
    "a run has a bit for each object, so that a second free is seen whoever makes it")}

DEPTHS = {"default": {}, "7": {"tcache_count": 7}, "0": {"tcache_count": 0}, "32": {"tcache_count": 32}}


def reversed_run(order: list[int]) -> int:
    """How many objects came back in the reverse of the order they were freed in, before anything else did.
    A single first object is no reversal: a list that is not a stack gives it back first as well."""
    first = order[0]
    run = 0
    while run < len(order) and order[run] == first - run:
        run += 1
    return run if order[run - 1] == 0 and run > 1 else 0


tcache_depth = Lab(
    name="tcache-depth",
    question="How many freed objects of one size does a thread keep for itself?",
    text="""40 objects of 64 bytes are allocated, freed in the same order and allocated again. The cache is a stack,
    the arena's bins are not: what was cached comes back in reverse, the rest in order. A live object behind them
    keeps them apart from the top.""",
    picture=drawings.lifo_orders,
    cases=[*(Case(label, "lifo", tunables=tunables) for label, tunables in DEPTHS.items()),
           Case("environment", "lifo", env={"MALLOC_TCACHE_COUNT": "7", "MALLOC_TCACHE_COUNT_": "7"})],
    figures=[Figure(f"order with tcache_count {label}", lambda m, k=label: shortened(m[k]["order"]), reference)
             for label, reference in (("default", "15..0 16..39"), ("7", "6..0 7..39"), ("0", "0..39"),
                                      ("32", "31..0 32..39"))],
    claims=[
        Claim("by default 16", lambda m: reversed_run(m["default"]["order"]), 16, older=7, by_design=DEEP),
        Claim("with tcache_count=7", lambda m: reversed_run(m["7"]["order"]), 7, by_design=DEEP),
        Claim("with tcache_count=0", lambda m: reversed_run(m["0"]["order"]), 0, older=40),
        Claim("with tcache_count=32", lambda m: reversed_run(m["32"]["order"]), 32, by_design=DEEP),
        Claim("no environment variable sets it: MALLOC_TCACHE_COUNT=7 changes nothing",
              lambda m: reversed_run(m["environment"]["order"]), 16, older=7, by_design=DEEP),
        Claim("what the cache did not hold comes back first in, first out",
              lambda m: [m[k]["order"][depth:] == list(range(depth, 40))
                         for k, depth in (("default", 16), ("7", 7), ("0", 0), ("32", 32))], [True] * 4,
              older=[False] * 4, by_design=DEEP),
    ],
    reading="""The first 16 frees of a size fill a stack that needs no lock; the 17th goes to the arena. Twice the depth
    of older versions, because the fastbins below it are gone.""",
)

RING = [8, 2_000_000]
QUICK_RING = [8, 250_000]
ONE, EIGHT, NO_CACHE = {"arena_max": 1}, {"arena_max": 8}, {"tcache_count": 0}
CONFIGURATIONS = {"8 arenas, cache": EIGHT, "1 arena, cache": ONE, "8 arenas, no cache": {**EIGHT, **NO_CACHE},
                  "1 arena, no cache": {**ONE, **NO_CACHE}}
ROUNDS = 3


def fastest_of_rounds(bench: Bench, allocator: Allocator) -> Measured:
    """All configurations in turn, several times: other work on the machine then hits all of them alike."""
    best: dict[str, Measurement] = {}
    for _ in range(ROUNDS):
        for case in tcache_and_locks.cases:
            measured = bench.run(case, allocator)
            if case.label not in best or measured["processor_ns"] < best[case.label]["processor_ns"]:
                best[case.label] = measured
    return best


def slowdown(measured: Measured, of: str, over: str) -> float:
    """In processor time, which other work on the machine hardly changes."""
    return measured[of]["processor_ns"] / measured[over]["processor_ns"]


def locks_a_pair(measured: Measured, configuration: str) -> float:
    return measured[configuration]["locks"] / measured[configuration]["pairs"]


tcache_and_locks = Lab(
    name="tcache-and-locks",
    question="What does the thread's cache save?",
    text="""Eight threads free and allocate 64 bytes two million times each, on a ring of eight pointers: with the
    cache and without it, in eight arenas and in one. The fastest of three rounds counts. How many times slower one
    is than another is said of the processor time of all threads. Rung counts how often an
    arena's lock is taken; times depend on the machine, these counts do not.""",
    picture=drawings.four_configurations,
    timed=True,
    cases=[Case(label, "ring", args=RING, quick=QUICK_RING, tunables=tunables)
           for label, tunables in CONFIGURATIONS.items()],
    measure=fastest_of_rounds,
    figures=[
        *(Figure(f"{label}: ms", lambda m, k=label: m[k]["ns"] / 1e6, reference)
          for label, reference in zip(CONFIGURATIONS, ("21 on 32 CPUs", "24", "104", "5,902"))),
        *(Figure(f"{label}: locks taken", lambda m, k=label: m[k]["locks"]) for label in CONFIGURATIONS),
        Figure("no cache, 1 arena over 8: times slower",
               lambda m: slowdown(m, "1 arena, no cache", "8 arenas, no cache"), "57 on 32 CPUs"),
    ],
    claims=[
        *(Claim(f"{label}: locks taken a pair of free and malloc", lambda m, k=label: locks_a_pair(m, k),
                AtMost(0.001)) for label in ("8 arenas, cache", "1 arena, cache")),
        *(Claim(f"{label}: locks taken a pair of free and malloc", lambda m, k=label: locks_a_pair(m, k),
                About(2, within=0.01)) for label in ("8 arenas, no cache", "1 arena, no cache")),
        Claim("with the cache, one arena instead of eight costs little (times slower)",
              lambda m: slowdown(m, "1 arena, cache", "8 arenas, cache"), AtMost(1.5), reference="1.14"),
        Claim("without the cache each call costs several times more, even with an arena a thread (times slower)",
              lambda m: slowdown(m, "8 arenas, no cache", "8 arenas, cache"), AtLeast(2.5), reference="5"),
        Claim("and so it does in one arena (times slower)",
              lambda m: slowdown(m, "1 arena, no cache", "1 arena, cache"), AtLeast(2.5), reference="246"),
    ],
    reading="""With a warm cache no lock is taken at all, so it does not matter how many there are. Without it every
    call takes one: that alone costs several times as much, and when threads on many CPUs want the same lock, far more.
    """,
)

no_fastbins = Lab(
    name="no-fastbins",
    question="Which parts of the reports are about something that no longer exists?",
    text="""64 objects of 64 bytes are freed, many more than the cache holds. Up to version 2.42 the arena kept such
    chunks unmerged in *fastbins*; the reporting interface still has their names.""",
    cases=[Case("run", "no_fastbins")],
    figures=[Figure("free chunks (ordblks)", lambda m: m["run"]["ordblks"])],
    claims=[
        Claim("mallinfo2 has nothing in smblks and fsmblks", lambda m: [m["run"]["smblks"], m["run"]["fsmblks"]],
              [0, 0], older=[57, 4560]),
        Claim("malloc_info writes no total of fast chunks, for no arena and not for the process",
              lambda m: [total(e, "total", "fast") for e in (*m["run"].heaps(), m["run"].xml["info"])
                         if total(e, "total", "fast") is not None], [], older=[4560, 4560]),
        Claim("but it writes the others: rest and mmap, system, aspace",
              lambda m: [total(m["run"].xml["info"], tag, kind) is not None
                         for tag, kind in (("total", "rest"), ("total", "mmap"), ("system", "current"),
                                           ("system", "max"), ("aspace", "total"), ("aspace", "mprotect"))],
              [True] * 6),
        Claim("mallopt(M_MXFAST) still says it succeeded, whatever the value",
              lambda m: [m["run"][f"mallopt_mxfast{suffix}"] for suffix in ("", "_0", "_back")], [1, 1, 1]),
    ],
    reading="""Nothing that read these fields breaks, and nothing it reads means anything: a monitor sees zero fast
    chunks for ever, a tuning guide's mallopt succeeds and changes nothing.""",
)

DOUBLE_FREE = "free(): double free detected in tcache 2"
SIGABRT = 6

double_free = Lab(
    name="double-free",
    question="Is a block that is freed twice noticed?",
    text="""A block of 64 bytes is freed twice: at once; with a hundred other frees between; and by two threads. Cached
    objects carry a random key, and a free that meets the key looks for the object in its own thread's cache.""",
    cases=[Case(how, "double_free", args=[how]) for how in ("one", "later", "two")],
    figures=[Figure("message", lambda m: m["one"]["message"], DOUBLE_FREE)],
    claims=[
        Claim("twice in one thread: the program is aborted", lambda m: m["one"]["signal"], SIGABRT),
        Claim("and told why", lambda m: m["one"]["message"], DOUBLE_FREE),
        Claim("a hundred frees later as well", lambda m: [m["later"]["signal"], m["later"]["message"]],
              [SIGABRT, DOUBLE_FREE]),
        Claim("by a second thread: nothing is noticed", lambda m: m["two"]["signal"], 0, by_design=EVERY_THREAD),
        Claim("and both threads are given the same block next", lambda m: m["two"]["both_given_the_same_block"], 1,
              by_design=EVERY_THREAD),
    ],
    reading="""The key says "this may be cached", and only the thread that cached it can tell. A second thread finds
    nothing in its own cache, takes the key for the user's data and caches the block once more.""",
)

CLASSES, MEAN_CHUNK = 64, (32 + 1040) // 2
LARGE_CHUNK = 65536 + 16

tcache_holds_back = Lab(
    name="tcache-holds-back",
    question="How much memory can a thread's cache keep from everybody else?",
    text="""More objects of each of the 64 cached sizes than the cache takes are allocated and all freed; what
    mallinfo2 still counts as in use is in the cache. Then the same with 64 objects of 64 KiB, with and without the
    option that lets the cache take large blocks.""",
    cases=[Case("default", "cached", args=[24, 16, CLASSES, 64]),
           Case("tcache_count=0", "cached", args=[24, 16, CLASSES, 64], tunables={"tcache_count": 0}),
           Case("tcache_count=32", "cached", args=[24, 16, CLASSES, 64], tunables={"tcache_count": 32}),
           Case("large, default", "cached", args=[65536, 0, 1, 64]),
           Case("large, tcache_max=4 MiB", "cached", args=[65536, 0, 1, 64], tunables={"tcache_max": 4194304})],
    figures=[
        Figure("computed worst case: 64 sizes, 16 each, 536 bytes on average",
               lambda m: CLASSES * 16 * MEAN_CHUNK, "548,864"),
        Figure("allocated before, bytes", lambda m: m["default"]["live"]),
    ],
    claims=[
        Claim("held back by default: the computed worst case, exactly", lambda m: m["default"]["held_back"],
              CLASSES * 16 * MEAN_CHUNK, older=CLASSES * 7 * MEAN_CHUNK, by_design=HELD),
        Claim("with tcache_count=0", lambda m: m["tcache_count=0"]["held_back"], 0),
        Claim("with tcache_count=32: twice as much", lambda m: m["tcache_count=32"]["held_back"],
              CLASSES * 32 * MEAN_CHUNK, by_design=HELD),
        Claim("large blocks are not cached by default", lambda m: m["large, default"]["held_back"], 0, by_design=HELD),
        Claim("with tcache_max=4194304 sixteen of them are",
              lambda m: m["large, tcache_max=4 MiB"]["held_back"] / LARGE_CHUNK, 16, older=0, by_design=HELD),
    ],
    reading="""Half a MiB a thread, at most, by default; a hundred threads make it 50 MiB. A full cache is rare, since a
    program must have freed that many of every size. With large blocks cached the bound is hundreds of MiB.""",
)
