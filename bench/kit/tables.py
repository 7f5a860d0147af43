"""A summary as tables: a title, a note, column heads and rows of text. The terminal and the page show the same."""

from dataclasses import dataclass

from .figures import METRICS, PERCENTILES

UNITS = {"time": ("s", 1, 3), "cpu": ("s", 1, 3), "peak": ("MiB", 1024, 1), "rested": ("MiB", 1024, 1)}


@dataclass
class Table:
    title: str
    note: str
    heads: list
    rows: list
    last: int = 0  # so many rows at the end are set apart


def number(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def ratios(document, summary, metric):
    """Workloads by contenders: the base's median, the others' ratios to it, and the widest spread of the row."""
    base = document["base"]
    names = [name for name in document["contenders"] if name != base]
    unit, divisor, digits = UNITS[metric]
    rows = []
    for workload, row in summary["rows"].items():
        if not row.get(base, {}).get(metric):
            continue
        cells = {name: row[name].get(metric) for name in names}
        widest = max(found["spread"] for found in [row[base][metric], *cells.values()] if found)
        rows.append([workload, number(row[base][metric]["median"] / divisor, digits),
                     *(number(found and found["ratio"]) for found in cells.values()), f"{100 * widest:.0f}"])
    means = [summary["means"].get(name, {}).get(metric) for name in names]
    if not rows:
        return None
    last = 0
    if any(means):
        rows.append(["geometric mean", "", *(number(value, 3) for value in means), ""])
        last = 1
    return Table(f"{METRICS[metric]}", f"{base} in {unit}, the others as ratios to it", ["workload", f"{base} {unit}", *names, "±%"], rows, last)


def means(document, summary):
    metrics = [metric for metric in METRICS if any(metric in found for found in summary["means"].values())]
    rows = [[name, *(number(found.get(metric), 3) for metric in metrics)] for name, found in summary["means"].items()]
    return Table("geometric means of the ratios", f"to {document['base']}; crowd-N is not in them", ["", *(METRICS[metric] for metric in metrics)], rows) if rows else None


def peers(summary):
    rows = []
    for name, by_metric in summary["peers"].items():
        for metric, found in by_metric.items():
            worst = [f"{workload} {one['ratio']:.2f} ({one['peer']})" for workload, one in list(found["workloads"].items())[:4] if one["ratio"] > 1]
            rows.append([name, METRICS[metric], found["peer"], number(found["mean"], 3), ", ".join(worst) or "none above 1"])
    note = "its geometric mean over the best peer's, and the workloads where it is furthest behind the best peer there"
    return Table("Rung against the best peer", note, ["", "", "best peer", "ratio", "furthest behind"], rows) if rows else None


def latency(summary):
    rows = []
    for workload, by_name in summary["latency"].items():
        for at, (name, found) in enumerate(by_name.items()):
            rows.append(["" if at else workload, name, *(f"{found[one]:,.0f}" for one in PERCENTILES)])
    return Table("time of a single operation", "nanoseconds, medians over the rounds", ["workload", "", *PERCENTILES], rows) if rows else None


def scaling(summary):
    threads = sorted({count for found in summary["scaling"].values() for count in found})
    rows = []
    for key, label in (("throughput", "by the clock"), ("throughput_cpu", "of processor time"), ("locks", "locks per million")):
        for name, found in summary["scaling"].items():
            if any(key in point for point in found.values()):
                rows.append([name, label, *(number(found.get(count, {}).get(key), 2 if key != "locks" else 0) for count in threads)])
    note = "crowd-N: millions of operations a second, and lock acquisitions per million operations"
    return Table("throughput by threads", note, ["", "", *map(str, threads)], rows) if rows else None


def counters(summary):
    rows = []
    for workload, by_name in summary["counters"].items():
        for at, (name, found) in enumerate(by_name.items()):
            rows.append(["" if at else workload, name, *(f"{value:,.0f}" for value in found.values())])
    return Table("Rung's counters", "of one run; page faults are the kernel's and medians",
                 ["workload", "", "lock acquisitions", "lock waits", "system calls", "page faults"], rows) if rows else None


def all_of(document, summary):
    found = [*(ratios(document, summary, metric) for metric in METRICS), means(document, summary), peers(summary), latency(summary),
             scaling(summary), counters(summary)]
    return [table for table in found if table]


def text(table):
    """For a terminal: the first column to the left, figures to the right."""
    everything = [table.heads, *table.rows]
    widths = [max(len(row[at]) for row in everything) for at in range(len(table.heads))]
    left = [at == 0 or any(not looks_numeric(row[at]) for row in table.rows) for at in range(len(table.heads))]

    def line(row):
        return "  ".join(cell.ljust(width) if side else cell.rjust(width) for cell, width, side in zip(row, widths, left)).rstrip()

    lines = [f"{table.title} ({table.note})", line(table.heads)]
    body = len(table.rows) - table.last
    lines += [line(row) for row in table.rows[:body]]
    if table.last:
        lines += ["-" * len(lines[1]), *(line(row) for row in table.rows[body:])]
    return "\n".join(lines)


def looks_numeric(cell):
    return not cell or cell.replace(",", "").replace(".", "").replace("-", "").isdigit()
