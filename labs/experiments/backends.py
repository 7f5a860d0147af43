"""Where an arena gets its memory from: brk, mmap, and the thresholds between them."""

from kit.lab import Case, Claim, Figure, Lab
from kit.programs import Measurement
from kit.wants import About, Anything, AtLeast, AtMost

# Why the profile default answers differently.
NO_BREAK = {"default": (
    "with runs, blocks of up to 32 MiB come from windows of 64 MiB: neither the break nor a mapping of "
    "their own is in play, and the thresholds never meet them")}
TRIM_ALWAYS = {"default": (
    "malloc_trim gives back free pages of runs, whatever the arena's memory is")}

STEPS = ("first", "small", "large", "free_large", "large_again")
STEP_TITLES = {"first": "4 KiB allocated", "small": "120 KiB more", "large": "130 KiB more",
               "free_large": "the 130 KiB freed", "large_again": "130 KiB again"}
MAPPED_LENGTH = 135168  # 130 KiB and a header, in whole pages
BRK_FIRST = 139264  # 4096 + 16 + top_pad + 32, in whole pages


def names(measured: Measurement, phase: str) -> list[str]:
    return [c.name for c in measured.calls(phase)]


def lengths(measured: Measurement, phase: str, name: str) -> list[int]:
    return [c.args["len"] for c in measured.calls(phase, name) if c.succeeded]


def breaks(measured: Measurement, *phases: str) -> list[int]:
    """Where each brk call of these phases left the break, seen from where it was before the program's first."""
    start = measured.calls("first", "brk")[0].ret
    return [c.ret - start for phase in phases for c in measured.calls(phase, "brk")]


syscall_trace = Lab(
    name="syscall-trace",
    question="When does malloc move the break, and when does it map?",
    text="""A heap exists already. The program asks for 120 KiB, for 130 KiB, frees the latter, asks for 130 KiB
    again, frees everything and calls malloc_trim(0) twice; a tracer prints the system calls of every step. The mmap
    threshold is 128 KiB when a process starts.""",
    pages_of_4k=True,
    cases=[Case("run", "backends", traced=True)],
    figures=[
        Figure("creating the heap", lambda m: names(m["run"], "first"), "brk brk"),
        Figure("malloc(120 KiB)", lambda m: names(m["run"], "small"), "none"),
        Figure("malloc(130 KiB)", lambda m: [str(c) for c in m["run"].calls("large")], "mmap(135,168)"),
        Figure("free(130 KiB)", lambda m: [str(c) for c in m["run"].calls("free_large")], "munmap(135,168)"),
        Figure("malloc(130 KiB) again", lambda m: names(m["run"], "large_again"), "brk"),
        Figure("freeing everything", lambda m: names(m["run"], "free_all"), "brk"),
        Figure("malloc_trim(0)", lambda m: names(m["run"], "trim"), "brk"),
    ],
    claims=[
        Claim("120 KiB fit into what the first growth left: no system call", lambda m: names(m["run"], "small"), []),
        Claim("130 KiB are mapped: one mmap of 135,168 bytes, no brk",
              lambda m: [names(m["run"], "large"), lengths(m["run"], "large", "mmap")], [["mmap"], [MAPPED_LENGTH]],
              by_design=NO_BREAK),
        Claim("freeing them unmaps the same length",
              lambda m: [names(m["run"], "free_large"), lengths(m["run"], "free_large", "munmap")],
              [["munmap"], [MAPPED_LENGTH]], by_design=NO_BREAK),
        Claim("that raised the threshold: the same request is now served by brk",
              lambda m: names(m["run"], "large_again"), ["brk"], by_design=NO_BREAK),
        Claim("freeing everything lowers the break once", lambda m: names(m["run"], "free_all"), ["brk"],
              by_design=NO_BREAK),
        Claim("and keeps the top_pad: the break is where it was after the first growth",
              lambda m: breaks(m["run"], "free_all")[-1], About(BRK_FIRST, plus_minus=4096), by_design=NO_BREAK),
        Claim("malloc_trim(0) lowers it once more, to one page",
              lambda m: breaks(m["run"], "trim"), [4096], by_design=NO_BREAK),
        Claim("and returns 1; a second call finds nothing and returns 0",
              lambda m: [m["run"]["trim.result"], m["run"]["trim_again.result"], names(m["run"], "trim_again")],
              [1, 0, []]),
    ],
    reading="""The threshold is looked at only when bins and top have failed, and it is not fixed: a mapped block that
    is freed was a temporary one, so the next of its size comes from the heap, where a free and a malloc cost no system
    call and no page fault.""",
)


def step_row(measured: Measurement, step: str) -> list[int]:
    """hblks, hblkhd in KiB, arena in KiB."""
    return [measured[f"{step}.hblks"], measured[f"{step}.hblkhd"] // 1024, measured[f"{step}.arena"] // 1024]


def step_claims(label: str, rows: dict[str, list[int]]) -> list[Claim]:
    # Older versions took the cache's own structure from the heap first, so that the first growth was a page smaller.
    return [Claim(f"{label}: {STEP_TITLES[step]}", lambda m, s=step: step_row(m[label], s), row,
                  older=[row[0], row[1], row[2] - 4], by_design=NO_BREAK) for step, row in rows.items()]


backends_mallinfo = Lab(
    name="backends-mallinfo",
    question="What does mallinfo2 say about brk and mmap, and what changes when an option is set?",
    text="""The same steps without a tracer. After each of them, in this order: mapped chunks (hblks), the KiB they
    take (hblkhd), and the KiB of the main arena (arena). Then again with the mmap threshold set to its own default
    value, and with a top_pad of 1 MiB.""",
    pages_of_4k=True,
    cases=[Case("by default", "backends"),
           Case("mmap_threshold=128 KiB", "backends", env={"MALLOC_MMAP_THRESHOLD_": "131072"}),
           Case("top_pad=1 MiB", "backends", env={"MALLOC_TOP_PAD_": "1048576"})],
    claims=[
        *step_claims("by default", {"first": [0, 0, 136], "small": [0, 0, 136], "large": [1, 132, 136],
                                    "free_large": [0, 0, 136], "large_again": [0, 0, 384]}),
        *step_claims("mmap_threshold=128 KiB", {"large": [1, 132, 136], "free_large": [0, 0, 136],
                                                "large_again": [1, 132, 136]}),
        *step_claims("top_pad=1 MiB", {step: [0, 0, 1032] for step in STEPS}),
        Claim("the break stays where it is while 130 KiB are mapped",
              lambda m: m["by default"]["large.break"] == m["by default"]["small.break"], True),
        Claim("after everything is freed and trimmed, the arena is one page",
              lambda m: m["by default"]["trim.arena"], 4096, by_design=NO_BREAK),
        Claim("and that page is one free chunk, the top, but for what malloc itself keeps",
              lambda m: [m["by default"]["trim.ordblks"],
                         m["by default"]["trim.keepcost"] == m["by default"]["trim.fordblks"],
                         m["by default"]["trim.fordblks"] + m["by default"]["trim.uordblks"]], [1, True, 4096],
              by_design=NO_BREAK),
        Claim("bytes in use then", lambda m: m["by default"]["trim.uordblks"], AtMost(1024)),
    ],
    reading="""Pinning the threshold makes every 130 KiB buffer cost an mmap, a munmap and 33 page faults again. A big
    top_pad does the reverse: with room in the top, a request over the threshold never gets to where the threshold is
    asked about.""",
)

top_pad = Lab(
    name="top-pad",
    question="By how much does the first malloc grow the heap?",
    text="""One malloc(16), and the break before and after it. The growth is the chunk (32 bytes), room for a new top
    (32 bytes) and top_pad, rounded up to whole pages.""",
    pages_of_4k=True,
    cases=[Case("default", "first_growth"),
           *(Case(f"top_pad={pad}", "first_growth", env={"MALLOC_TOP_PAD_": str(pad)}) for pad in (0, 131072, 1048576)),
           Case("top_pad=0, as a tunable", "first_growth", tunables={"top_pad": 0})],
    claims=[
        Claim("by default", lambda m: m["default"]["moved"], 135168, by_design=NO_BREAK),
        Claim("with top_pad=0: one page", lambda m: m["top_pad=0"]["moved"], 4096, by_design=NO_BREAK),
        Claim("with top_pad=131072: as by default", lambda m: m["top_pad=131072"]["moved"], 135168, by_design=NO_BREAK),
        Claim("with top_pad=1048576", lambda m: m["top_pad=1048576"]["moved"], 1052672, by_design=NO_BREAK),
        Claim("as a tunable the option does the same",
              lambda m: m["top_pad=0, as a tunable"]["moved"], 4096, by_design=NO_BREAK),
    ],
    reading="""The default is 128 KiB: what the manual says, and not the 0 that a reader of the source would believe.""",
)


def brk_failures(measured: Measurement) -> int:
    """How many brk calls asked for a break they did not get."""
    return sum(c.ret != c.args["addr"] for c in measured.calls("past_the_wall", "brk"))


wall_above_break = Lab(
    name="wall-above-break",
    question="What happens when the break cannot move?",
    text="""A page without access is mapped 512 KiB above the break, and 40 blocks of 100,000 bytes, which do not fit
    below it, are allocated and written.""",
    pages_of_4k=True,
    cases=[Case("run", "wall", args=[512], traced=True)],
    figures=[
        Figure("blocks above the wall", lambda m: m["run"]["blocks_elsewhere"], "35"),
        Figure("bytes the break moved", lambda m: m["run"]["break_moved"], "532,480"),
    ],
    claims=[
        Claim("mappings stand in for the break, each of 1 MiB",
              lambda m: lengths(m["run"], "past_the_wall", "mmap"), [2**20] * 4, older=Anything(), by_design=NO_BREAK),
        Claim("before each of them brk was tried, and failed",
              lambda m: brk_failures(m["run"]) == len(m["run"].calls("past_the_wall", "mmap")), True, by_design=NO_BREAK),
        Claim("no chunk is flagged as mapped", lambda m: m["run"]["blocks_flagged_mapped"], 0),
        Claim("mallinfo2 counts no mapped chunk and no mapped byte",
              lambda m: [m["run"]["hblks"], m["run"]["hblkhd"]], [0, 0]),
        Claim("the arena is what the break moved and the stand-ins together",
              lambda m: m["run"]["arena"] - m["run"]["break_moved"]
              == sum(lengths(m["run"], "past_the_wall", "mmap")), True, by_design=NO_BREAK),
        Claim("KiB of the arena", lambda m: m["run"]["arena"] // 1024, 4616, older=AtLeast(4000), by_design=NO_BREAK),
    ],
    reading="""The heap goes on in a mapping, in pieces that are no longer next to each other. A monitor that takes
    hblks = 0 for "this process does not use mmap" is wrong here.""",
)

FREEZERS = {"trim_threshold": ("MALLOC_TRIM_THRESHOLD_", 131072, -1), "top_pad": ("MALLOC_TOP_PAD_", 131072, -2),
            "mmap_threshold": ("MALLOC_MMAP_THRESHOLD_", 131072, -3), "mmap_max": ("MALLOC_MMAP_MAX_", 65536, -4)}


def still_mapped(measured: Measurement) -> bool:
    """Whether the second 130 KiB were mapped like the first: the threshold did not rise."""
    return [measured["large.hblks"], measured["large_again.hblks"]] == [1, 1]


frozen_threshold = Lab(
    name="frozen-threshold",
    question="Which options end the adaptation of the mmap threshold?",
    text="""130 KiB are allocated, freed and allocated again. If the threshold adapts, the second block comes from the
    heap. Each of four options is set to the value it has anyway: as a tunable, as an environment variable and with
    mallopt. Then hugetlb=2, which asks for huge pages that most machines have not reserved.""",
    cases=[
        Case("nothing set", "backends"),
        Case("arena_max", "backends", tunables={"arena_max": 8}),
        *(Case(f"{name}, tunable", "backends", tunables={name: value}) for name, (_, value, _) in FREEZERS.items()),
        *(Case(f"{name}, environment", "backends", env={alias: str(value)})
          for name, (alias, value, _) in FREEZERS.items()),
        *(Case(f"{name}, mallopt", "backends", args=[parameter, value])
          for name, (_, value, parameter) in FREEZERS.items()),
        Case("hugetlb=2", "backends", tunables={"hugetlb": 2}, traced=True),
    ],
    figures=[
        Figure("hugetlb=2: bytes mapped for the first 4 KiB", lambda m: lengths(m["hugetlb=2"], "first", "mmap"),
               "1,048,576"),
        Figure("huge pages reserved on this machine", lambda m: m["hugetlb=2"]["huge_pages"]),
    ],
    claims=[
        Claim("with nothing set it adapts", lambda m: still_mapped(m["nothing set"]), False),
        Claim("arena_max leaves it alone", lambda m: still_mapped(m["arena_max"]), False),
        *(Claim(f"setting {name} ends it, in all three ways",
                lambda m, n=name: [still_mapped(m[f"{n}, {way}"]) for way in ("tunable", "environment", "mallopt")],
                [True] * 3, by_design=NO_BREAK)
          for name in FREEZERS),
        Claim("hugetlb=2 takes the main arena off the break: no brk moves it",
              lambda m: [names(m["hugetlb=2"], "first").count("brk"), m["hugetlb=2"]["first.break"]
                         == m["hugetlb=2"]["large_again.break"]], [0, True]),
        Claim("hugetlb=2: the arena is a mapping instead, not counted as mapped",
              lambda m: [m["hugetlb=2"]["first.arena"] == sum(lengths(m["hugetlb=2"], "first", "mmap")),
                         m["hugetlb=2"]["first.hblks"]], [True, 0], by_design=NO_BREAK),
        Claim("hugetlb=2: of 1 MiB, where no huge page is to be had",
              lambda m: m["hugetlb=2"]["first.arena"] == 2**20 or m["hugetlb=2"]["huge_pages"] > 0, True,
              by_design=NO_BREAK),
        Claim("hugetlb=2: malloc_trim returns 0", lambda m: m["hugetlb=2"]["trim.result"], 0, by_design=TRIM_ALWAYS),
    ],
    reading="""Setting trim_threshold to keep a process small also nails the mmap threshold to 128 KiB, and from then
    on every buffer above it costs two system calls and its page faults anew. None of the four says so.""",
)
