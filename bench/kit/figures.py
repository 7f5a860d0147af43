"""From samples to what is shown: medians, spreads, ratios, geometric means."""

import math
from statistics import median

# What has a ratio and a geometric mean, and where it comes from: rounds, or the one run aside.
METRICS = {
    "time": "time by the clock",
    "cpu": "processor time",
    "peak": "peak resident memory",
    "rested": "resident memory at rest",
}
TIMED = ("time", "cpu", "peak", "faults")
PERCENTILES = ("p50", "p99", "p99.9", "p99.99", "max")


def spread(values):
    """Half the range of the middle half of the values (of all of them when they are few), over their median."""
    values = sorted(values)
    middle = median(values)
    cut = len(values) // 4
    return (values[-1 - cut] - values[cut]) / 2 / middle if middle else 0.0


def ratio(own, base):
    """The median over the rounds of a figure over the base's in the same round; None where the base has none."""
    ratios = [mine / theirs for mine, theirs in zip(own, base) if theirs > 0]
    return median(ratios) if ratios else None


def geometric_mean(values):
    """None of no values: there is nothing to say then. All must be above 0."""
    values = list(values)
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def column(samples, metric):
    return [sample[metric] for sample in samples if metric in sample]


def cell(samples, base, metric):
    own = column(samples, metric)
    if not own:
        return None
    return {"median": median(own), "spread": spread(own), "ratio": ratio(own, column(base, metric))}


def rows_of(samples, asides, base):
    """workload -> contender -> metric -> median, spread and ratio to the base."""
    rows = {}
    for workload, by_name in samples.items():
        row = rows[workload] = {}
        for name, taken in by_name.items():
            cells = {metric: cell(taken, by_name[base], metric) for metric in TIMED}
            once = asides.get(workload, {})
            for metric in ("freed", "rested"):
                cells[metric] = cell([once.get(name, {})], [once.get(base, {})], metric)
            row[name] = {metric: found for metric, found in cells.items() if found}
    return rows


def means_of(rows, groups):
    """contender -> metric -> geometric mean of the ratios, over the workloads for which everybody has one."""
    means = {}
    counted = [row for workload, row in rows.items() if groups[workload] != "scaling"]
    for metric in METRICS:
        complete = [row for row in counted if all(cells.get(metric, {}).get("ratio") for cells in row.values())]
        for name in (complete[0] if complete else ()):
            means.setdefault(name, {})[metric] = geometric_mean(row[name][metric]["ratio"] for row in complete)
    return means


def against_best_peer(rows, means, kinds, groups):
    """Rung contender -> metric -> its mean over the best peer's, and each workload's ratio to the best peer there,
    the worst first. Empty without peers."""
    peers = [name for name, kind in kinds.items() if kind == "peer"]
    found = {}
    for name in (name for name, kind in kinds.items() if kind == "rung" and peers):
        for metric in ("time", "cpu", "peak", "rested"):
            there = {}
            for workload, row in rows.items():
                ratios = {one: row[one].get(metric, {}).get("ratio") for one in [name, *peers]}
                if groups[workload] == "scaling" or not all(ratios.values()):
                    continue
                best = min(peers, key=ratios.get)
                there[workload] = {"peer": best, "ratio": ratios[name] / ratios[best]}
            known = {one: means[one][metric] for one in [name, *peers] if metric in means.get(one, {})}
            if there and len(known) == len(peers) + 1:
                best = min(peers, key=known.get)
                worst = dict(sorted(there.items(), key=lambda item: -item[1]["ratio"]))
                found.setdefault(name, {})[metric] = {"peer": best, "mean": known[name] / known[best], "workloads": worst}
    return found


def latency_of(samples):
    """workload -> contender -> percentile -> median nanoseconds."""
    found = {}
    for workload, by_name in samples.items():
        for name, taken in by_name.items():
            if column(taken, "p50"):
                found.setdefault(workload, {})[name] = {one: median(column(taken, one)) for one in PERCENTILES}
    return found


def scaling_of(samples, asides, groups):
    """contender -> threads -> millions of operations a second by the clock and of processor time, and lock
    acquisitions a million operations where they are known."""
    found = {}
    for workload in (workload for workload in samples if groups[workload] == "scaling"):
        threads = int(workload.rpartition("-")[2])
        for name, taken in samples[workload].items():
            million = taken[0]["operations"] / 1e6
            point = found.setdefault(name, {})[threads] = {
                "throughput": million / median(column(taken, "time")),
                "throughput_cpu": million / median(column(taken, "cpu")),
            }
            once = asides.get(workload, {}).get(name, {})
            if "lock_acquisitions" in once:
                point["locks"] = once["lock_acquisitions"] / million
    return found


def counters_of(samples, asides, kinds):
    """workload -> Rung contender -> lock acquisitions, waits, system calls and page faults."""
    found = {}
    for workload, by_name in asides.items():
        for name, once in by_name.items():
            if kinds[name] == "rung" and "lock_acquisitions" in once:
                found.setdefault(workload, {})[name] = {
                    "locks": once["lock_acquisitions"],
                    "waits": once["lock_waits"],
                    "system calls": sum(value for key, value in once.items() if key.startswith("sys_")),
                    "page faults": median(column(samples[workload][name], "faults")),
                }
    return found


def summarise(document):
    """Everything that is shown, from what was measured."""
    samples, asides, groups = document["samples"], document["aside"], document["workloads"]
    kinds = {name: contender["kind"] for name, contender in document["contenders"].items()}
    rows = rows_of(samples, asides, document["base"])
    means = means_of(rows, groups)
    return {
        "rows": rows,
        "means": means,
        "peers": against_best_peer(rows, means, kinds, groups),
        "latency": latency_of(samples),
        "scaling": scaling_of(samples, asides, groups),
        "counters": counters_of(samples, asides, kinds),
    }
