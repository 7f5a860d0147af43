"""What was measured, as files that other programs read."""

import csv
import json
import os
from pathlib import Path

from .errors import Failure
from .figures import TIMED

FORMAT = 1


def machine():
    system = os.uname()
    return {"system": f"{system.sysname} {system.release}", "kind": system.machine, "processors": os.cpu_count()}


def document(kind, base, contenders, workloads, samples, aside, skipped, options):
    return {
        "format": FORMAT,
        "kind": kind,
        "machine": machine(),
        "rounds": options.rounds,
        "scale": options.scale,
        "rest": options.rest,
        "base": base,
        "units": {"time": "s", "cpu": "s", "peak": "KiB", "freed": "KiB", "rested": "KiB", "p50 to max": "ns"},
        "contenders": {name: contender.record() for name, contender in contenders.items()},
        "workloads": {workload.name: workload.group for workload in workloads},
        "skipped": skipped,
        "samples": samples,
        "aside": aside,
    }


def write_json(path, found, summary):
    Path(path).write_text(json.dumps(found | {"summary": summary}, indent=1) + "\n")


def read_json(path):
    try:
        found = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise Failure(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise Failure(f"{path} was not written by this version's --json")
    return found


def write_csv(path, found, summary):
    """A line a workload and contender."""
    metrics = [*TIMED, "freed", "rested"]
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["workload", "group", "contender", *(f"{metric}_{what}" for metric in metrics for what in ("median", "spread", "ratio"))])
        for workload, by_name in summary["rows"].items():
            for name, cells in by_name.items():
                values = (cells.get(metric, {}).get(what) for metric in metrics for what in ("median", "spread", "ratio"))
                out.writerow([workload, found["workloads"][workload], name, *("" if value is None else f"{value:.6g}" for value in values)])
