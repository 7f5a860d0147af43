"""`rung bench --memory`: the runs, what is shown of them, and whether Rung keeps what it owes."""

import os
import tempfile
from pathlib import Path

from .. import contenders, rounds
from ..errors import not_built
from ..progress import Progress
from . import export, scenarios, watch

RUNG = "rung:default"


def choose_contenders(options):
    """In the order they are shown."""
    names = options.under or [contenders.SYSTEM, *contenders.installed(), RUNG]
    return {one.name: one for one in (contenders.named(name, options.rung) for name in names)}


def measure(options):
    """The document."""
    chosen, wanted = choose_contenders(options), scenarios.choose(options.only)
    with tempfile.TemporaryDirectory(prefix="rung-bench.") as place:
        workloads = [watch.workload(scenario, Path(place), options.programs, options.scale) for scenario in wanted]
        for workload in workloads:
            if not os.access(workload.command[0], os.X_OK):
                raise not_built(workload.command[0])
        samples = {}
        rounds.interleave(options.rounds, workloads, chosen, watch.Watcher(options.programs, options.timeout), Progress(), samples)
    return export.document(chosen, samples, options)


def listing(options):
    lines = [f"{scenario.name:16} {scenario.stands}" for scenario in scenarios.ALL.values()]
    return "\n".join([*lines, "allocators:", *(f"  {name}" for name in choose_contenders(options))])
