"""How memory gets back to the kernel, and what keeps it."""

from kit.lab import Case, Claim, Figure, Lab
from kit.programs import Call, Measurement
from kit.wants import About, AtLeast, AtMost

from . import drawings

# Why the profile default answers differently.
PURGED = {"default": (
    "free memory goes back page by page, from the middle too, as soon as it exceeds 1 MiB or a share of "
    "what is in use; a live block above does not matter")}
NO_HEADERS = {"default": (
    "without headers a block of 4096 bytes is one page, so every hole is one; each window keeps a "
    "description of itself")}
WINDOWS = {"default": (
    "runs share windows among all threads and keep an empty one's address space; what changes hands there "
    "is pages, many at a time")}

BLOCKS_KIB = 20000 * 4112 // 1024


def grown(measured: Measurement, step: str) -> int:
    """Resident KiB above the start."""
    return measured[f"{step}.rss"] - measured["start.rss"]


free_alone = Lab(
    name="free-alone",
    question="Does free give memory back to the kernel?",
    text="""20,000 blocks of 4096 bytes are written and all freed; then the same again, but the topmost block stays.
    No block is small enough for the thread's cache. Resident memory after each step, in KiB.""",
    picture=drawings.resident_over_time,
    pages_of_4k=True,
    cases=[Case("run", "give_back")],
    figures=[Figure(text, lambda m, s=step: m["run"][f"{s}.rss"], reference) for text, step, reference in (
        ("at the start", "start", "1,216"), ("20,000 blocks written", "filled", "82,012"),
        ("all freed", "freed_all", "1,828"), ("malloc_trim(0)", "trimmed_all", "1,700"),
        ("written again, all freed but the topmost", "freed_but_top", "82,012"),
        ("malloc_trim(0)", "trimmed_but_top", "1,708"), ("that one freed too, trimmed", "trimmed_last", "1,700"))],
    claims=[
        Claim("the blocks are resident once written", lambda m: grown(m["run"], "filled"),
              About(BLOCKS_KIB, within=0.02)),
        Claim("free alone gives everything back but the top_pad (KiB above the start)",
              lambda m: grown(m["run"], "freed_all"), AtMost(1024), by_design=PURGED),
        Claim("one live block on top, and free gives nothing back (KiB)",
              lambda m: m["run"]["refilled.rss"] - m["run"]["freed_but_top.rss"], About(0, plus_minus=256),
              by_design=PURGED),
        Claim("malloc_trim gives back the pages below it (KiB above the start)",
              lambda m: grown(m["run"], "trimmed_but_top"), AtMost(1024)),
        Claim("the break, and so the virtual size, stays up meanwhile (KiB above the start)",
              lambda m: m["run"]["trimmed_but_top.vsz"] - m["run"]["start.vsz"], AtLeast(BLOCKS_KIB), by_design=WINDOWS),
        Claim("malloc_trim says so each time", lambda m: [m["run"]["trim_after_all"], m["run"]["trim_with_top"]],
              [1, 1]),
    ],
    reading="""Freed neighbours merge; the chunk that ends at the top joins it; and when the top is large the break is
    lowered. A live block above takes the last step away, however much is free below. Resident memory that does not
    fall after a free says where the *live* blocks are, not how much is free.""",
)

KEEP = {1000: 444, 64: 2784, 8: 20236, 2: 80636}  # every n-th kept: resident KiB above the start after malloc_trim

trim_and_fragments = Lab(
    name="trim-and-fragments",
    question="How much of a heap full of holes can malloc_trim give back?",
    text="""20,000 blocks of 4096 bytes are written, and every k-th of them stays; one more live block lies on top.
    Resident memory above the start, in KiB, when the others are freed and after malloc_trim(0).""",
    picture=drawings.fragments,
    pages_of_4k=True,
    cases=[Case(f"every {k}", "keep_every", args=[k]) for k in KEEP],
    figures=[Figure(f"every {k}-th kept: live, after free, after trim",
                    lambda m, k=k: [m[f"every {k}"]["live_kib"], grown(m[f"every {k}"], "freed"),
                                    grown(m[f"every {k}"], "trimmed")], reference)
             for k, reference in ((1000, "80 80,784 632"), (64, "1,248 80,788 2,980"), (8, "10,000 80,780 20,468"),
                                  (2, "40,000 80,712 80,712"))],
    claims=[
        *(Claim(f"every {k}-th kept: free alone gives nothing back (KiB)",
                lambda m, k=k: m[f"every {k}"]["filled.rss"] - m[f"every {k}"]["freed.rss"],
                About(0, plus_minus=256), by_design=PURGED) for k in KEEP),
        *(Claim(f"every {k}-th kept: KiB above the start after malloc_trim",
                lambda m, k=k: grown(m[f"every {k}"], "trimmed"), About(kib, within=0.05, plus_minus=400),
                by_design=NO_HEADERS)
          for k, kib in KEEP.items()),
    ],
    reading="""A page comes back only when all of its bytes are free, so what stays is the live data and the pages it
    touches: a chunk of 4112 bytes lies in two pages or three. With every second block alive there is no free page at
    all, and no call can help.""",
)


def of_size(calls: list[Call], length: int) -> list[Call]:
    return [c for c in calls if c.args["len"] == length]


SUBHEAP = 64 * 2**20

empty_subheap = Lab(
    name="empty-subheap",
    question="Is a secondary arena's empty sub-heap unmapped, and what does an arena's growth cost?",
    text="""One thread fills two sub-heaps with 40,000 blocks of 2,000 bytes and frees them, the last first. Then
    the same with one object of 1,000 bytes allocated after them and freed before them: it goes to the thread's cache,
    where it counts as in use, and it lies at the top.""",
    picture=drawings.subheap_life,
    pages_of_4k=True,
    cases=[Case("all freed", "subheap", traced=True), Case("one cached", "subheap", args=["cached"], traced=True)],
    figures=[
        Figure("resident KiB: full, freed", lambda m: [m["all freed"][f"{s}.rss"] for s in ("grown", "shrunk")],
               "about 82,600, 1,956"),
        Figure("virtual KiB above the start: full, freed",
               lambda m: [m["all freed"][f"{s}.vsz"] - m["all freed"]["start.vsz"] for s in ("grown", "shrunk")],
               "65,536 0"),
        Figure("one cached, resident KiB: full, freed, thread gone",
               lambda m: [m["one cached"][f"{s}.rss"] for s in ("grown", "shrunk", "gone")]),
    ],
    claims=[
        Claim("the blocks lie in two sub-heaps",
              lambda m: m["all freed"]["first_subheap"] != m["all freed"]["last_subheap"], True, by_design=WINDOWS),
        Claim("the second sub-heap is unmapped, whole and at its own address",
              lambda m: [c.args["addr"] == m["all freed"]["last_subheap"]
                         for c in of_size(m["all freed"].calls("shrink", "munmap"), SUBHEAP)], [True], by_design=WINDOWS),
        Claim("its 64 MiB leave the virtual size (KiB)",
              lambda m: m["all freed"]["grown.vsz"] - m["all freed"]["shrunk.vsz"], 65536, by_design=WINDOWS),
        Claim("resident KiB above the start afterwards", lambda m: grown(m["all freed"], "shrunk"), AtMost(1024),
              by_design=PURGED),
        Claim("growing takes an mprotect call a page",
              lambda m: len(m["all freed"].calls("grow", "mprotect")), About(19627, plus_minus=16), by_design=WINDOWS),
        Claim("shrinking takes a madvise call a page (a mapping without access where overcommit_memory is 2)",
              lambda m: len(m["all freed"].calls("shrink", "madvise", "mmap")), About(19625, plus_minus=16),
              by_design=WINDOWS),
        Claim("one cached object at the top: nothing comes back (resident KiB)",
              lambda m: m["one cached"]["grown.rss"] - m["one cached"]["shrunk.rss"], About(0, plus_minus=256),
              by_design=PURGED),
        Claim("and no sub-heap is unmapped",
              lambda m: len(of_size(m["one cached"].calls("shrink", "munmap"), SUBHEAP)), 0),
        Claim("when the thread ends, its cache is drained and the sub-heap goes",
              lambda m: len(of_size(m["one cached"].calls("exit", "munmap"), SUBHEAP)), 1, by_design=WINDOWS),
        Claim("resident KiB above the start then", lambda m: grown(m["one cached"], "gone"), AtMost(1024),
              by_design=PURGED),
    ],
    reading="""Yes. But a secondary arena has no top_pad: it grows and shrinks a page at a time, some 40,000 system
    calls for 80 MB. And one object in a cache is enough to keep all of it.""",
)

WAYS = {"munmap": "munmap", "brk": "lowering the break", "dontneed": "madvise(MADV_DONTNEED)",
        "free": "madvise(MADV_FREE)", "remap": "mapping it anew with PROT_NONE"}
WAYS_KIB = 65536


def dropped(what: str, kib: dict[str, int]) -> list[Claim]:
    text = {"rss": "KiB that stop being resident at once", "vsz": "KiB that leave the virtual size"}[what]
    return [Claim(f"{WAYS[way]}: {text}", lambda m, w=way: m["run"][f"{w}.{what}_dropped_kib"],
                  About(expected, plus_minus=512)) for way, expected in kib.items()]


ways_of_giving_back = Lab(
    name="ways-of-giving-back",
    question="What does it mean to give memory back?",
    text="""64 MiB are written and given back in each of the five ways an allocator can use; then every page is touched
    again. This is the kernel's part: no allocator is involved.""",
    depends_on_allocator=False,
    cases=[Case("run", "ways")],
    figures=[Figure(f"{WAYS[way]}: ns for the next touch of a page", lambda m, w=way: m["run"][f"{w}.touch_ns"])
             for way in ("dontneed", "free")],
    claims=[
        *dropped("rss", {"munmap": WAYS_KIB, "brk": WAYS_KIB, "dontneed": WAYS_KIB, "free": 0, "remap": WAYS_KIB}),
        *dropped("vsz", {"munmap": WAYS_KIB, "brk": WAYS_KIB, "dontneed": 0, "free": 0, "remap": 0}),
        *(Claim(f"{WAYS[way]}: the next touch finds", lambda m, w=way: m["run"][f"{w}.reads"], found)
          for way, found in (("munmap", "SIGSEGV"), ("brk", "SIGSEGV"), ("dontneed", "zero"),
                             ("free", "old contents"), ("remap", "SIGSEGV"))),
        Claim("after MADV_DONTNEED every page faults again (faults in 100 pages)",
              lambda m: m["run"]["dontneed.faults_per_100_pages"], About(100, plus_minus=2)),
        Claim("after MADV_FREE no page does, unless the kernel took it meanwhile",
              lambda m: m["run"]["free.faults_per_100_pages"], About(0, plus_minus=2)),
    ],
    reading="""Only the first two give addresses back, and only memory at an edge can go that way. MADV_DONTNEED keeps
    the addresses, so an allocator can use it in the middle of a heap; each page then costs a fault and a cleared page
    again. After MADV_FREE the memory still counts as resident until the kernel wants it: a monitor sees no change.""",
)
