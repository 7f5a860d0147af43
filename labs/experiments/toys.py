"""Four small allocators, each one step from the one before: what they do, and how they compare with real ones.

The toys, their demos and the comparison are in toys/; these labs run them and judge what they print."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

from kit.allocators import Allocator, clean_environment
from kit.errors import ProgramFailed
from kit.lab import Case, Claim, Figure, Lab, Measured
from kit.programs import Bench, Measurement
from kit.wants import About

TOYS = ("bump", "freelist", "trim", "mmap")
COMPARE = Path(__file__).resolve().parents[2] / "toys" / "compare" / "compare.py"
COMPARE_TIMEOUT_SECONDS = 900
RSS = re.compile(r"(\d+) KiB$")


def run_demos(bench: Bench, allocator: Allocator) -> Measured:
    measured = {}
    for toy in TOYS:
        done = subprocess.run([bench.toy(f"demo-{toy}")], env=clean_environment(), capture_output=True, text=True,
                              timeout=60, check=False)
        if done.returncode != 0:
            raise ProgramFailed(f"demo-{toy} ended with status {done.returncode}: {done.stderr.strip()}")
        measured[toy] = Measurement()
        measured[toy]["transcript"] = done.stdout
    return measured


def line_of(measured: Measured, toy: str, call: str) -> str:
    """What the demo printed for a call."""
    for line in measured[toy]["transcript"].splitlines():
        if line.startswith(call):
            return " ".join(line.removeprefix(call).split())
    raise LookupError(call)


def place_of(measured: Measured, toy: str, call: str) -> str:
    """The same without the resident memory."""
    return RSS.sub("", line_of(measured, toy, call)).strip()


def resident(measured: Measured, toy: str) -> list[int]:
    """KiB of anonymous memory after each of the three steps of give_back."""
    lines = measured[toy]["transcript"].splitlines()
    return [int(found.group(1)) for found in map(RSS.search, lines) if found is not None]


def resident_change(measured: Measured, toy: str, step: int) -> int:
    kib = resident(measured, toy)
    return kib[step] - kib[step - 1]


toys = Lab(
    name="toys",
    question="What is the least an allocator needs?",
    text="""Four toys run a few calls each and print where every block lies: bump moves the break for each request;
    freelist cuts the heap up, merges what is freed and uses it again; trim gives the free end of the heap back; mmap
    gives large blocks a mapping of their own.""",
    depends_on_allocator=False,
    measure=run_demos,
    sources=("toys/README.md", "toys/bump.c", "toys/freelist.c", "toys/trim.c", "toys/mmap.c"),
    pages_of_4k=True,
    cases=[Case(toy, f"demo-{toy}") for toy in TOYS],
    claims=[
        *(Claim(f"bump: {call}", lambda m, c=call: line_of(m, "bump", c), place)
          for call, place in (("a = malloc(16)", "start+0"), ("b = malloc(1)", "start+16"),
                              ("c = malloc(100)", "start+32"))),
        Claim("bump: d = malloc(1) comes after c, although b is free", lambda m: line_of(m, "bump", "d = malloc(1)"),
              "start+144"),
        Claim("bump: the break", lambda m: line_of(m, "bump", "break"), "start+160"),
        *(Claim(f"freelist: {call}", lambda m, c=call: line_of(m, "freelist", c), lists) for call, lists in (
            ("a = malloc(100)", "[0, 128] free: [128, 65408]"), ("b = malloc(200)", "[128, 224] free: [352, 65184]"),
            ("c = malloc(100)", "[352, 128] free: [480, 65056]"), ("free(a)", "free: [0, 128] [480, 65056]"),
            ("free(b)", "free: [0, 352] [480, 65056]"), ("d = malloc(50)", "[0, 80] free: [80, 272] [480, 65056]"),
            ("free(c)", "free: [80, 65456]"), ("free(d)", "free: [0, 65536]"))),
        Claim("trim: a block of 1 MiB and one of 16 bytes above it: the break",
              lambda m: place_of(m, "trim", "malloc(1 MiB), malloc(16)"), "start+1088 KiB"),
        Claim("trim: freeing the lower block moves nothing", lambda m: place_of(m, "trim", "free(1 MiB)"),
              "start+1088 KiB"),
        Claim("trim: and gives nothing back (KiB)", lambda m: resident_change(m, "trim", 1), 0),
        Claim("trim: freeing the upper one moves the break", lambda m: place_of(m, "trim", "free(16)"), "start+64 KiB"),
        Claim("trim: and gives it back (KiB)", lambda m: resident_change(m, "trim", 2), About(-964, plus_minus=16)),
        Claim("mmap: the same blocks: the break", lambda m: place_of(m, "mmap", "malloc(1 MiB), malloc(16)"),
              "start+64 KiB"),
        Claim("mmap: freeing the large one gives it back at once, whatever lies above (KiB)",
              lambda m: resident_change(m, "mmap", 1), About(-1028, plus_minus=16)),
        Claim("mmap: freeing the other changes nothing more (KiB)", lambda m: resident_change(m, "mmap", 2), 0),
    ],
    reading="""Each toy mends the fault of the one before: without a header nothing can be used again; without merging
    a heap falls to pieces; without lowering the break it never shrinks; without mappings of their own large blocks are
    held by small ones above them. What the last one still lacks is speed.""",
)


def run_comparison(bench: Bench, allocator: Allocator) -> Measured:
    bench.toy("workload")  # says what to build when the toys are not there
    with tempfile.TemporaryDirectory() as directory:
        result, picture = Path(directory, "compare.json"), Path(directory, "compare.svg")
        command = ["/usr/bin/python3", "-B", str(COMPARE), "--build", str(bench.build), "--json", str(result)]
        command += ["--quick"] if bench.quick else []
        command += ["--rung", str(bench.librung)] if bench.librung is not None else []
        command += ["--svg", str(picture)] if bench.pictures else []
        try:
            done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True,
                                  timeout=COMPARE_TIMEOUT_SECONDS, check=False)
        except subprocess.TimeoutExpired as expired:
            raise ProgramFailed(f"compare.py was still running after {COMPARE_TIMEOUT_SECONDS} s") from expired
        if not result.is_file():
            raise ProgramFailed(f"compare.py ended with status {done.returncode}: {done.stderr.strip()}")
        document = json.loads(result.read_text())
        measured = Measurement()
        measured["allocators"] = {row["name"]: row for row in document["allocators"]}
        measured["claims"] = {claim["id"]: claim for claim in document["claims"]}
        measured.svg = picture.read_text() if picture.is_file() else None
    return {"run": measured}


COMPARED = ("bump", "freelist", "trim", "mmap", "glibc", "glibc, no tcache", "glibc, fixed threshold", "jemalloc",
            "mimalloc", "tcmalloc", "rung glibc", "rung glibc, no tcache", "rung glibc, fixed threshold", "rung default")
CLAIMED = {
    "bump-keeps-everything": "bump holds all it ever allocated",
    "freelist-walks": "freelist is many times slower than glibc: it walks its list",
    "trim-walks": "so is trim",
    "trim-third-walk": "trim is slower than freelist: one walk more",
    "trim-gives-back": "trim keeps next to nothing at the end, freelist keeps all",
    "mmap-lowest-rss": "mmap has the lowest resident memory while blocks are live",
    "mmap-pays-in-time": "and pays for it in page faults and time",
    "glibc-tcache-pins": "glibc keeps much at the end: cached chunks pin its heap",
    "glibc-no-tcache-gives-back": "glibc without its cache gives nearly everything back",
    "glibc-few-mmaps": "glibc maps few of the large requests: its threshold rises",
    "glibc-fixed-threshold-slow": "glibc with its threshold held is much slower",
}
RUNG_CLAIMED = {f"rung-{key}": text.replace("glibc", "rung glibc")
                for key, text in CLAIMED.items() if key.startswith("glibc-")}


def compared_row(measured: Measured, name: str) -> list:
    row = measured["run"]["allocators"][name]
    return [f"{row['ns_per_step']:,.0f}", f"{row['rss_live_kib'] / 1024:.1f}", f"{row['rss_kept_kib'] / 1024:.2f}"]


toys_compared = Lab(
    name="toys-compared",
    question="How far are the toys from a real allocator?",
    text="""One load on all of them: a step replaces a random one of 2,700 live blocks by one of random size and writes
    to each of its pages; 372,000 steps allocate 1.4 GiB, and 10.3 MiB are live at the end. For each
    allocator: nanoseconds a step, resident MiB with the blocks live, resident MiB when all are freed.""",
    depends_on_allocator=False,
    measure=run_comparison,
    drawn=lambda measured: measured["run"].svg,
    timed=True,
    cases=[Case("run", "workload")],
    sources=("toys/README.md", "toys/compare/workload.c", "toys/compare/claims.py"),
    figures=[
        *(Figure(name, lambda m, n=name: compared_row(m, n)) for name in COMPARED),
        *(Figure(text, lambda m, k=key: f"{m['run']['claims'][k]['measured']} (bound: {m['run']['claims'][k]['bound']})")
          for key, text in {**CLAIMED, **RUNG_CLAIMED}.items()),
    ],
    claims=[Claim(text, lambda m, k=key: m["run"]["claims"][k]["holds"], True)
            for key, text in {**CLAIMED, **RUNG_CLAIMED}.items()],
    reading="""The toys walk; glibc has a list for every size and walks hardly at all. What its cache and its rising
    threshold save in time they cost in memory at the end, and each of the two can be turned off to see it.""",
)
