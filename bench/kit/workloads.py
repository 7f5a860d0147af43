"""What runs under every contender. bench/programs and bench/jobs say of each what it stands for."""

import fnmatch
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .errors import Failure, not_built

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77  # a script's exit status when what it needs is not here

# Made of allocation, for this project: name -> program and arguments (the amount of work comes last).
OWN = {
    "replace-1": ("replace", "1"),
    "replace-4": ("replace", "4"),
    "spurt-lifo": ("spurt", "lifo"),
    "spurt-fifo": ("spurt", "fifo"),
    "burst-lifo": ("burst", "lifo"),
    "burst-fifo": ("burst", "fifo"),
    "inherit": ("inherit",),
    "handoff": ("handoff",),
    "mixed": ("mixed",),
    "large": ("large",),
    "grow": ("grow",),
    "share-active": ("sharing", "active"),
    "share-passive": ("sharing", "passive"),
    "brief": ("brief",),
    "latency-1": ("latency", "1"),
    "latency-2": ("latency", "2"),
    "algebra": ("algebra",),
    "tree": ("tree",),
}
# The same work on more and more threads: a table of its own, not part of the means.
SCALING = {f"crowd-{threads}": ("crowd", str(threads)) for threads in (1, 2, 4, 8, 16, 32, 64)}
# Programs people run. A script makes their input once and then does the same work in each run.
REAL = {
    "python": "tests/programs/python.sh",
    "perl": "tests/programs/perl.sh",
    "lua": "tests/programs/lua.sh",
    "sqlite3": "tests/programs/sqlite3.sh",
    "z3": "bench/jobs/z3.sh",
    "gcc": "bench/jobs/gcc.sh",
    "g++": "bench/jobs/gxx.sh",
    "redis": "tests/programs/redis.sh",
    "cppcheck": "bench/jobs/cppcheck.sh",
}
# Longer ones, and some that allocate little; they run when they are asked for.
MORE = {name: f"tests/programs/{name}.sh" for name in ("compilers", "git", "openssl", "sort", "xz", "tar", "java", "node")}

GROUPS = {"own": OWN, "real": REAL, "scaling": SCALING, "more": MORE}
# Debian links Redis with jemalloc: where nothing else is preloaded, the C library goes in front of it.
BRINGS_ITS_OWN = {"redis"}


@dataclass
class Workload:
    name: str
    group: str
    command: list
    place: Path  # a directory of its own
    script: Path = None
    preload: str = ""  # where the contender has nothing to preload
    work: float = 1  # how long it takes, in whatever unit all of them have

    @property
    def built(self):
        """Whether it is one of bench/programs, which report figures of their own."""
        return self.script is None


def names():
    return [name for group in GROUPS.values() for name in group]


def group_of(name):
    return next(group for group, members in GROUPS.items() if name in members)


def choose(patterns):
    """The names the patterns mean; a pattern may be several with commas between, and the name of a group."""
    if not patterns:
        patterns = ["own", "real", "scaling"]
    chosen = []
    for pattern in (part for text in patterns for part in text.split(",")):
        found = list(GROUPS.get(pattern, ())) or fnmatch.filter(names(), pattern)
        if not found:
            raise Failure(f"no program '{pattern}'; there are: {', '.join(names())}, and the groups {', '.join(GROUPS)}")
        chosen += [name for name in found if name not in chosen]
    return chosen


def make(name, place, programs, scale, libc):
    group = group_of(name)
    place = Path(place) / name
    if group in ("own", "scaling"):
        binary, *arguments = GROUPS[group][name]
        command = [str(programs / binary), *arguments, str(scale)]
        return Workload(name, group, command, place)
    script = ROOT / GROUPS[group][name]
    command = [str(script), "job", str(place / "input")]
    return Workload(name, group, command, place, script, libc if name in BRINGS_ITS_OWN else "")


def prepare(workload, environment):
    """Makes the input. Why the workload cannot run here, or None."""
    source = workload.place / "input"
    source.mkdir(parents=True)
    if workload.built:
        if not os.access(workload.command[0], os.X_OK):
            raise not_built(workload.command[0])
        return None
    made = subprocess.run([workload.script, "prepare"], cwd=source, env=environment, capture_output=True, text=True)
    if made.returncode == SKIPPED:
        shutil.rmtree(workload.place)
        return made.stdout.strip().removeprefix("skipped: ") or "it cannot run here"
    if made.returncode != 0:
        raise Failure(f"{workload.name}: its input could not be made:\n{made.stdout}{made.stderr}")
    return None
