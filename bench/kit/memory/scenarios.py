"""What runs, what it stands for, and what Rung owes there. The programs in bench/programs say more."""

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import Failure
from .run import Run

LESS, MORE = "at most", "at least"


@dataclass(frozen=True)
class Figure:
    """What is read of a run. With a limit Rung owes it."""

    label: str
    unit: str  # "MiB", "%", "" for ratios and counts, "/s"
    read: Callable  # of a Run; None where it has none
    limit: float = None
    better: str = LESS

    def keeps(self, value):
        return value <= self.limit if self.better == LESS else value >= self.limit

    def owed(self):
        return "" if self.limit is None else f"{self.better} {self.limit:g}{' ' + self.unit if self.unit else ''}"


@dataclass(frozen=True)
class Scenario:
    name: str
    command: tuple  # the program and its arguments; the scale comes last
    stands: str
    figures: tuple
    seconds: int  # about as long a run takes
    line: tuple = None  # a label and the name of one of the program's own figures, in KiB, drawn across the picture
    moments: tuple = ()  # at which memory is owed, marked in the picture
    virtual: bool = False  # the picture has address space too


def percent(read):
    return lambda run: 100 * read(run)


def own(name):
    return lambda run: run.figures.get(name)


def of_bound(run):
    return (run.peak - run.at("start")) * 1024 / run.figures["bound"]


def handover(name, how, what):
    return Scenario(
        name, ("handover", how),
        f"eight threads allocate blocks of 592 bytes, one that never allocates frees them; {what}",
        (Figure("peak above start, of what can be alive", "", of_bound, 1.1),
         Figure("kept when all is freed", "MiB", lambda run: run.above_start("drained")),
         Figure("blocks handed over", "/s", lambda run: run.figures["handed"] / (run.moment("last").time - run.moment("start").time), better=MORE)),
        8, ("all that can be alive", "bound"), ("last", "drained"))


ALL = {one.name: one for one in (
    Scenario(
        "pools", ("pools",),
        "32 threads, one after another, have three bursts of 20,000 blocks, keep 1 % of the last and go to sleep for ever",
        (Figure("above start, 3 s after the last burst", "MiB", lambda run: run.above_start("settled"), 20),),
        6, moments=("settled",)),
    Scenario(
        "silence", ("silence",),
        "300,000 blocks, 307 MiB, all freed but the last; twelve seconds without a call; malloc_trim",
        (Figure("given back after 12 s without a call", "%", percent(lambda run: run.given_back("silent")), 80, MORE),
         Figure("left to the kernel as LazyFree by then", "MiB", lambda run: run.lazy_at("silent"), 0),
         Figure("given back after malloc_trim", "%", percent(lambda run: run.given_back("trimmed")), 90, MORE),
         Figure("malloc_trim claimed to have released what it had not", "", own("untrue"), 0)),
        13, moments=("silent", "trimmed")),
    Scenario(
        "holes", ("holes",),
        "300,000 blocks of 512, 1024 and 2048 bytes, a random 19 of 20 freed; five seconds without a call; malloc_trim",
        (Figure("resident without a call, of the peak", "%", percent(lambda run: run.at("settled") / run.peak), 30),
         Figure("resident after malloc_trim, of the peak", "%", percent(lambda run: run.at("trimmed") / run.peak), 25),
         Figure("malloc_trim claimed to have released what it had not", "", own("untrue"), 0)),
        6, ("pages with a survivor", "floor"), ("settled", "trimmed")),
    Scenario(
        "survivors", ("survivors",),
        "400 rounds of six buffers of 1 to 24 MiB, each with a small survivor after it",
        (Figure("kept when the buffers are freed", "MiB", lambda run: run.above_start("settled"), 4),),
        6, moments=("settled",)),
    Scenario(
        "aligned", ("aligned",),
        "eight buffers of 1 to 4 MiB aligned to cache lines, replaced 3,000 times with small survivors between",
        (Figure("address space at its largest", "MiB", Run.largest_virtual, 200),
         Figure("resident when the buffers are freed, above start", "MiB", lambda run: run.above_start("settled"))),
        5, moments=("replaced", "settled"), virtual=True),
    handover("handover", "stay", "their queues are bounded and full"),
    handover("handover-asleep", "sleep", "every half second a producer goes to sleep for ever and another one follows it"),
    Scenario(
        "dying", ("dying",),
        "20,000 threads of 64 allocations and frees, one after another; then one that leaves a block of 64 MiB",
        (Figure("growth from the 1,000th thread to the last", "MiB", lambda run: run.at("later") - run.at("warm"), 1),
         Figure("kept of a dead thread's large block, 2 s after another freed it", "MiB", lambda run: run.at("returned") - run.at("later"), 4)),
        5, moments=("warm", "later", "returned")),
    Scenario(
        "enlarge", ("enlarge",),
        "a block grows by half each time to 512 MiB; another one by 8 bytes a time to 4 MiB",
        (Figure("peak above start, of the block's final size", "", lambda run: (run.peak - run.at("start")) * 1024 / run.figures["largest"], 1.2),
         Figure("time of the last quarter of the appends, of the first", "", own("last_to_first_quarter"), 3)),
        2, moments=("enlarged", "freed")),
    Scenario(
        "server", ("server",),
        "three days of a server in 24 s: load by the hour, a pool that follows it, work handed over, caches, a batch job at night",
        (Figure("memory times time, of what is alive", "", lambda run: run.resident_time() / run.live_time()),
         Figure("resident in the last night, of what is alive", "", lambda run: run.at("night") / run.live_at("night")),
         Figure("kept when all is freed, above start", "MiB", lambda run: run.above_start("closed")),
         Figure("ticks that took too long, of 1,200", "", own("late"))),
        29, moments=("night", "closed")),
    Scenario(
        "churn", ("churn",),
        "two threads replace blocks of 16 bytes to 4 MiB at random, and nothing grows",
        (Figure("system calls for memory, in the steady state", "/s", lambda run: run.per_second("steady", "calls")),
         Figure("the same, of a million operations", "", lambda run: run.per_million("steady", "calls", "operations")),
         Figure("page faults, of a million operations", "", lambda run: run.per_million("steady", "faults", "operations")),
         Figure("operations, in the steady state", "/s", lambda run: run.figures["operations"] / run.length("steady"), better=MORE),
         Figure("kept when all is freed, above start", "MiB", lambda run: run.above_start("settled"))),
        7, moments=("settled",)),
)}


def choose(patterns):
    """The scenarios that the patterns mean, all without any; a pattern may be several with commas between."""
    if not patterns:
        return list(ALL.values())
    chosen = {}
    for pattern in (part for text in patterns for part in text.split(",")):
        found = fnmatch.filter(ALL, pattern)
        if not found:
            raise Failure(f"no scenario '{pattern}'; there are: {', '.join(ALL)}")
        chosen |= {name: ALL[name] for name in found}
    return list(chosen.values())
