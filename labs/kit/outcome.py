"""Running a lab under several allocators, and what came of it."""

import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Sequence

from .allocators import NO_ALLOCATOR, Allocator
from .errors import ProgramFailed, Skipped
from .lab import Judgement, Lab, Measured, Verdict, judge
from .programs import Bench


@dataclass
class Result:
    """One lab under one allocator: measured, or skipped, or broken."""

    allocator: Allocator
    measured: Measured = field(default_factory=dict)
    judgements: Sequence[Judgement] = ()
    skipped: str = ""
    error: str = ""

    @property
    def failed(self) -> bool:
        if self.error:
            return self.allocator.kind != "other"
        return any(j.verdict is Verdict.FAILS for j in self.judgements)


@dataclass
class Outcome:
    lab: Lab
    results: list[Result]

    @property
    def failed(self) -> bool:
        return any(r.failed for r in self.results)

    @property
    def skipped(self) -> bool:
        return all(r.skipped for r in self.results)

    @property
    def measured(self) -> dict[str, Measured]:
        return {r.allocator.name: r.measured for r in self.results if r.measured}


def run_lab(lab: Lab, allocators: Sequence[Allocator], bench: Bench) -> Outcome:
    results = []
    for allocator in allocators if lab.depends_on_allocator else [NO_ALLOCATOR]:
        result = Result(allocator)
        results.append(result)
        try:
            if lab.pages_of_4k and os.sysconf("SC_PAGE_SIZE") != 4096:
                raise Skipped("what it claims is true of pages of 4 KiB, and this machine's are larger")
            if lab.measure is not None:
                measured = lab.measure(bench, allocator)
            else:
                measured = {case.label: bench.run(case, allocator) for case in lab.cases}
            result.measured = measured
            result.judgements = [judge(claim, allocator, measured) for claim in lab.claims]
        except Skipped as reason:
            result.skipped = str(reason)
        except ProgramFailed as reason:
            result.error = str(reason)
    return Outcome(lab, results)


def machine() -> dict[str, Any]:
    """What the figures depend on, and nothing that names the machine itself."""
    def kernel_setting(path: str) -> Optional[str]:
        try:
            return Path(path).read_text().strip()
        except OSError:
            return None

    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpus_online": os.sysconf("SC_NPROCESSORS_ONLN"),
        "memory_gib": round(pages / 2**30),
        "architecture": platform.machine(),
        "kernel": platform.release().split("-")[0],
        "libc": " ".join(platform.libc_ver()),
        "page_size": os.sysconf("SC_PAGE_SIZE"),
        "overcommit_memory": kernel_setting("/proc/sys/vm/overcommit_memory"),
        "transparent_hugepages": kernel_setting("/sys/kernel/mm/transparent_hugepage/enabled"),
    }


def machine_line() -> str:
    m = machine()
    return (f"{m['architecture']}, {m['cpus_online']} CPUs, {m['memory_gib']} GiB, Linux {m['kernel']}, "
            f"{m['libc']}, pages of {m['page_size']} bytes")
