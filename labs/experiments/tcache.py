"""The thread's cache: how deep it is, what it saves, what it holds back, and what it does not see."""

from kit.lab import Case, Claim, Figure, Lab

DEPTHS = {"default": {}, "7": {"tcache_count": 7}, "0": {"tcache_count": 0}, "32": {"tcache_count": 32}}


def reversed_run(order: list[int]) -> int:
    """How many objects came back in the reverse of the order they were freed in, before anything else did.
    A single first object is no reversal: a list that is not a stack gives it back first as well."""
    first = order[0]
    run = 0
    while run < len(order) and order[run] == first - run:
        run += 1
    return run if order[run - 1] == 0 and run > 1 else 0


def shortened(order: list[int]) -> str:
    """An order as runs: 15..0 16..39."""
    runs, start = [], 0
    for i in range(1, len(order) + 1):
        step = order[start + 1] - order[start] if start + 1 < len(order) else 0
        if i == len(order) or order[i] - order[i - 1] != step or abs(step) != 1:
            runs.append(str(order[start]) if i - 1 == start else f"{order[start]}..{order[i - 1]}")
            start = i
    return " ".join(runs)


tcache_depth = Lab(
    name="tcache-depth",
    question="How many freed objects of one size does a thread keep for itself?",
    text="""40 objects of 64 bytes are allocated, freed in the same order and allocated again. The cache is a stack,
    the arena's bins are not: what was cached comes back in reverse, the rest in order. A live object behind them
    keeps them apart from the top.""",
    cases=[Case(label, "lifo", tunables=tunables) for label, tunables in DEPTHS.items()],
    figures=[Figure(f"order with tcache_count {label}", lambda m, k=label: shortened(m[k]["order"]), reference)
             for label, reference in (("default", "15..0 16..39"), ("7", "6..0 7..39"), ("0", "0..39"),
                                      ("32", "31..0 32..39"))],
    claims=[
        Claim("by default 16", lambda m: reversed_run(m["default"]["order"]), 16, older=7),
        Claim("with tcache_count=7", lambda m: reversed_run(m["7"]["order"]), 7),
        Claim("with tcache_count=0", lambda m: reversed_run(m["0"]["order"]), 0, older=40),
        Claim("with tcache_count=32", lambda m: reversed_run(m["32"]["order"]), 32),
        Claim("what the cache did not hold comes back first in, first out",
              lambda m: [m[k]["order"][depth:] == list(range(depth, 40))
                         for k, depth in (("default", 16), ("7", 7), ("0", 0), ("32", 32))], [True] * 4,
              older=[False] * 4),
    ],
    reading="""The first 16 frees of a size fill a stack that needs no lock; the 17th goes to the arena. Twice the depth
    of older versions, because the fastbins below it are gone.""",
)

LABS = (tcache_depth,)
