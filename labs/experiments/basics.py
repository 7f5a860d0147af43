"""What one call of malloc does: to the system, to the address space, to the bytes in front of the pointer."""

from kit.lab import Case, Claim, Figure, Lab
from kit.programs import Measurement
from kit.wants import About, AtLeast, AtMost, Between

from . import drawings

# Why the profile default answers differently.
RUNS = {"default": (
    "a first call maps a window for runs, which lies among the mappings; no break is moved")}
POPULATED = {"default": (
    "where a size grows, a call makes up to four pages resident, in place of as many page faults")}
NO_HEADERS = {"default": (
    "objects in runs, and blocks in their windows, have no header: a window knows their sizes, which come "
    "in classes")}

HEAP_REQUESTS = {0: (32, 24), 1: (32, 24), 24: (32, 24), 25: (48, 40), 41: (64, 56), 1000: (1008, 1000),
                 1032: (1040, 1032), 1033: (1056, 1048), 4096: (4112, 4104), 131000: (131008, 131000)}
MAPPED_REQUEST = 200000

thousand_mallocs = Lab(
    name="thousand-mallocs",
    question="What does the kernel see of a thousand calls of malloc?",
    text="""A program calls malloc(16) a thousand times, the first call apart from the other 999, and a tracer prints
    the memory system calls made meanwhile.""",
    pages_of_4k=True,
    cases=[Case("run", "thousand", traced=True)],
    figures=[
        Figure("system calls during the first malloc(16)", lambda m: [str(c) for c in m["run"].calls("first")],
               "brk(0) brk(...)"),
        Figure("bytes from the first pointer to the last", lambda m: m["run"]["span"], "31,968"),
    ],
    claims=[
        Claim("the first call makes two brk calls: it asks for the break, then moves it",
              lambda m: [c.name for c in m["run"].calls("first")], ["brk", "brk"], by_design=RUNS),
        Claim("the first of them only asks", lambda m: m["run"].calls("first")[0].args["addr"], 0),
        Claim("the break moves by 132 KiB", lambda m: moved(m["run"].calls("first")), 135168, by_design=RUNS),
        Claim("system calls during the other 999", lambda m: len(m["run"].calls("rest")), 0, by_design=POPULATED),
        Claim("the thousand chunks lie side by side, 32 bytes each", lambda m: m["run"]["span"], 999 * 32,
              by_design=NO_HEADERS),
    ],
    reading="""A request to the kernel costs more than everything malloc does itself, so one request is made to last: a
    thousand objects take 32,000 bytes, and the first call fetched 135,168. What is left over is the *top* of the heap,
    and the next allocations are cut from it.""",
)


def moved(calls):
    """How far a series of brk calls that begins with a question moved the break."""
    return calls[-1].ret - calls[0].ret


chunk_headers = Lab(
    name="chunk-headers",
    question="How much memory does a request really take?",
    text="""The eight bytes in front of a pointer hold the size of its chunk; sizes are multiples of 16, so the three
    lowest bits are free for flags. The program asks for a few sizes and prints what it finds there, and what
    malloc_usable_size makes of it.""",
    pages_of_4k=True,
    cases=[Case("run", "headers", args=[*HEAP_REQUESTS, MAPPED_REQUEST])],
    claims=[
        *(Claim(f"a request of {request:,} takes a chunk of {chunk:,}, of which {usable:,} are usable",
                lambda m, r=request: [m["run"][f"request.{r}.chunk"], m["run"][f"request.{r}.usable"]],
                [chunk, usable], by_design=NO_HEADERS)
          for request, (chunk, usable) in HEAP_REQUESTS.items()),
        Claim("every pointer is a multiple of 16",
              lambda m: [m["run"][f"request.{r}.past_16"] for r in (*HEAP_REQUESTS, MAPPED_REQUEST)],
              [0] * (len(HEAP_REQUESTS) + 1)),
        Claim("chunks of the heap carry flag 1: the chunk before is in use",
              lambda m: [m["run"][f"request.{r}.flags"] for r in HEAP_REQUESTS], [1] * len(HEAP_REQUESTS),
              by_design=NO_HEADERS),
        Claim("a mapped request of 200,000 carries flag 2 and no other",
              lambda m: m["run"][f"request.{MAPPED_REQUEST}.flags"], 2, by_design=NO_HEADERS),
        Claim("its chunk, with the 16 bytes before it, fills whole pages",
              lambda m: [m["run"][f"request.{MAPPED_REQUEST}.chunk"], m["run"][f"request.{MAPPED_REQUEST}.usable"]],
              [200688, 200680], older=[200704, 200688], by_design=NO_HEADERS),
        Claim("its pointer lies 16 bytes past the beginning of a page",
              lambda m: m["run"][f"request.{MAPPED_REQUEST}.past_page"], 16, by_design=NO_HEADERS),
    ],
    reading="""A chunk is the request plus eight bytes, rounded up to 16 and at least 32. The payload reaches into the
    next chunk's first word: that word would hold this chunk's size, and only while this chunk is *free*. Hence 24
    bytes fit into 32, and 25 do not.""",
)

REGIONS = ("text", "data", "bss", "malloc", "break", "libc", "stack")
TIB = 2**40


def gap(measured: Measurement) -> int:
    return measured["libc"] - measured["break"]


address_space = Lab(
    name="address-space",
    question="Where in a process is the memory that malloc returns?",
    text="""One address of each region of a process: the program's code, initialised data, zeroed data, a block from
    malloc(16), the break, a function of the C library, a variable on the stack.""",
    picture=drawings.address_map,
    cases=[Case("run", "layout")],
    figures=[
        *(Figure(region, lambda m, r=region: f"{m['run'][r]:#x}") for region in REGIONS),
        Figure("from the break to libc, in TiB", lambda m: gap(m["run"]) / TIB, "23.4"),
        Figure("that is so many times the RAM", lambda m: gap(m["run"]) / m["run"]["ram"], "1,530"),
        Figure("virtual KiB, resident KiB", lambda m: [m["run"]["all.vsz"], m["run"]["all.rss"]]),
    ],
    claims=[
        Claim("the addresses rise from the program's code to the stack",
              lambda m: sorted(REGIONS, key=lambda r: m["run"][r]), list(REGIONS), by_design=RUNS),
        Claim("the block lies in the region the break ends", lambda m: m["run"]["malloc_in_heap_region"], 1,
              by_design=RUNS),
        Claim("and within one growth of the heap below the break (bytes)",
              lambda m: m["run"]["break"] - m["run"]["malloc"], Between(0, 135168), by_design=RUNS),
    ],
    reading="""The break is one movable end of one region. Above it lies an enormous gap of addresses with nothing
    behind them, and above that the mappings: libraries, stacks, large blocks, secondary arenas.""",
)

cost_of_a_call = Lab(
    name="cost-of-a-call",
    question="Why does malloc not ask the kernel every time?",
    text="""A million calls each of an empty system call, of sbrk(16) and of malloc(16). They take turns, a tenth of
    the calls at a time; the fastest turn of each counts.""",
    timed=True,
    cases=[Case("run", "call_cost", args=[1_000_000], quick=[200_000])],
    figures=[Figure(f"{text}: ns a call", lambda m, k=key: m["run"][f"{k}.tenths"] / 10, reference)
             for key, text, reference in (("syscall", "syscall(SYS_getppid)", "575.2"), ("sbrk", "sbrk(16)", "610.1"),
                                          ("malloc", "malloc(16)", "26.9"))],
    claims=[
        Claim("sbrk(16) costs what a system call costs (times as much)",
              lambda m: m["run"]["sbrk.tenths"] / m["run"]["syscall.tenths"], Between(0.7, 4), reference="1.06"),
        Claim("malloc(16) costs less than sbrk(16) (times less)",
              lambda m: m["run"]["sbrk.tenths"] / m["run"]["malloc.tenths"], AtLeast(1.5), reference="22.7"),
    ],
    reading="""None of the blocks is ever freed, so this is malloc without any cache: it cuts each block off the top, and
    the page faults of the memory it uses are counted too. How large the ratio is depends on how dear this machine's
    system calls are.""",
)


def quarter(measured: Measurement, number: int, key: str) -> int:
    return measured[f"q{number}.{key}"]


demand_paging = Lab(
    name="demand-paging",
    question="When does memory begin to exist?",
    text="""The break is moved up by 1 GiB, and one byte of every page is written; the page faults are counted and the
    sizes read after each quarter. Huge pages are switched off for the process.""",
    depends_on_allocator=False,
    picture=drawings.growth_by_touch,
    pages_of_4k=True,
    cases=[Case("run", "demand", args=[1024], quick=[256])],
    figures=[
        Figure("page faults so far, by quarters", lambda m: [quarter(m["run"], i, "faults") for i in range(5)],
               "3 65,539 131,075 196,611 262,147"),
        Figure("virtual KiB", lambda m: [quarter(m["run"], i, "vsz") for i in range(5)], "5 × 1,050,916"),
        Figure("resident KiB", lambda m: [quarter(m["run"], i, "rss") for i in range(5)],
               "1,308 263,536 525,680 787,824 1,049,968"),
    ],
    claims=[
        Claim("moving the break makes almost nothing resident (KiB)",
              lambda m: quarter(m["run"], 0, "rss") - m["run"]["start.rss"], AtMost(512)),
        Claim("but the virtual size is there at once, and does not change again",
              lambda m: len({quarter(m["run"], i, "vsz") for i in range(5)}), 1),
        Claim("every page written costs one page fault (faults a page, by quarters)",
              lambda m: [round((quarter(m["run"], i + 1, "faults") - quarter(m["run"], i, "faults"))
                               / m["run"]["pages_a_quarter"], 2) for i in range(4)], [1.0] * 4),
        Claim("and makes one page resident (KiB a page, all quarters)",
              lambda m: (quarter(m["run"], 4, "rss") - quarter(m["run"], 0, "rss"))
              / (4 * m["run"]["pages_a_quarter"]), About(4, within=0.01)),
    ],
    reading="""Addresses are free; pages are not. What malloc took from the kernel costs memory only from its first
    write on, and from then on it stays resident, in use or not, until someone gives it back.""",
)
