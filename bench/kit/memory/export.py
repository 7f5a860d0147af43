"""What was measured, as files that other programs read."""

import csv

from ..export import FORMAT, machine


def document(contenders, samples, options):
    return {
        "format": FORMAT,
        "kind": "memory",
        "machine": machine(),
        "rounds": options.rounds,
        "scale": options.scale,
        "units": {"memory": "MiB", "time": "s", "resident_time": "MiB s"},
        "contenders": {name: contender.record() for name, contender in contenders.items()},
        "skipped": {},
        "samples": samples,
    }


def write_csv(path, found, summary):
    """A line a scenario, figure and allocator."""
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["scenario", "allocator", "figure", "unit", "value", "owed", "missed", "rounds"])
        for scenario, by_kind in summary.items():
            for row in by_kind["figures"]:
                for name, cell in row["cells"].items():
                    out.writerow([scenario, name, row["label"], row["unit"], plain(cell["value"]), row["owed"], plain(cell.get("missed")), cell["rounds"]])
            for name, general in by_kind["general"].items():
                for key, value in general.items():
                    out.writerow([scenario, name, key, "", plain(value), "", "", found["rounds"]])


def plain(value):
    return "" if value is None else f"{value:.6g}"
