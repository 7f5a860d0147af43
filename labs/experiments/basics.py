"""What one call of malloc does: to the system, to the address space, to the bytes in front of the pointer."""

from kit.lab import Case, Claim, Figure, Lab
from kit.wants import About

HEAP_REQUESTS = {0: (32, 24), 1: (32, 24), 24: (32, 24), 25: (48, 40), 41: (64, 56), 1000: (1008, 1000),
                 1032: (1040, 1032), 1033: (1056, 1048), 4096: (4112, 4104), 131000: (131008, 131000)}
MAPPED_REQUEST = 200000

thousand_mallocs = Lab(
    name="thousand-mallocs",
    question="What does the kernel see of a thousand calls of malloc?",
    text="""A program calls malloc(16) a thousand times, the first call apart from the other 999, and a tracer prints
    the memory system calls made meanwhile.""",
    cases=[Case("run", "thousand", traced=True)],
    figures=[
        Figure("system calls during the first malloc(16)", lambda m: [str(c) for c in m["run"].calls("first")],
               "brk(0) brk(...)"),
        Figure("bytes from the first pointer to the last", lambda m: m["run"]["span"], "31,968"),
    ],
    claims=[
        Claim("the first call makes two brk calls: it asks for the break, then moves it",
              lambda m: [c.name for c in m["run"].calls("first")], ["brk", "brk"]),
        Claim("the first of them only asks", lambda m: m["run"].calls("first")[0].args["addr"], 0),
        Claim("the break moves by 132 KiB", lambda m: moved(m["run"].calls("first")), 135168),
        Claim("system calls during the other 999", lambda m: len(m["run"].calls("rest")), 0),
        Claim("the thousand chunks lie side by side, 32 bytes each", lambda m: m["run"]["span"], 999 * 32),
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
    cases=[Case("run", "headers", args=[*HEAP_REQUESTS, MAPPED_REQUEST])],
    claims=[
        *(Claim(f"a request of {request:,} takes a chunk of {chunk:,}, of which {usable:,} are usable",
                lambda m, r=request: [m["run"][f"request.{r}.chunk"], m["run"][f"request.{r}.usable"]],
                [chunk, usable])
          for request, (chunk, usable) in HEAP_REQUESTS.items()),
        Claim("every pointer is a multiple of 16",
              lambda m: [m["run"][f"request.{r}.past_16"] for r in (*HEAP_REQUESTS, MAPPED_REQUEST)],
              [0] * (len(HEAP_REQUESTS) + 1)),
        Claim("chunks of the heap carry flag 1: the chunk before is in use",
              lambda m: [m["run"][f"request.{r}.flags"] for r in HEAP_REQUESTS], [1] * len(HEAP_REQUESTS)),
        Claim("a mapped request of 200,000 carries flag 2 and no other",
              lambda m: m["run"][f"request.{MAPPED_REQUEST}.flags"], 2),
        Claim("its chunk, with the 16 bytes before it, fills whole pages",
              lambda m: [m["run"][f"request.{MAPPED_REQUEST}.chunk"], m["run"][f"request.{MAPPED_REQUEST}.usable"]],
              [200688, 200680], older=[200704, 200688]),
        Claim("its pointer lies 16 bytes past the beginning of a page",
              lambda m: m["run"][f"request.{MAPPED_REQUEST}.past_page"], 16),
    ],
    reading="""A chunk is the request plus eight bytes, rounded up to 16 and at least 32. The payload reaches into the
    next chunk's first word: that word would hold this chunk's size, and only while this chunk is *free*. Hence 24
    bytes fit into 32, and 25 do not.""",
)

LABS = (thousand_mallocs, chunk_headers)
