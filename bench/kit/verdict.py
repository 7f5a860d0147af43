"""--check: whether Rung keeps a limit."""

import sys

from .figures import METRICS, column, ratio
from .rounds import interleave


def pairs_of(samples, base, rungs):
    """(workload, contender) -> its samples and the base's of the same rounds."""
    return {(workload, name): (list(by_name[name]), list(by_name[base])) for workload, by_name in samples.items() for name in rungs}


def over_limit(pairs, limit, metrics):
    """(workload, contender, metric, ratio) of each ratio over the limit."""
    found = []
    for (workload, name), (own, base) in pairs.items():
        for metric in metrics:
            value = ratio(column(own, metric), column(base, metric))
            if value is not None and value > limit:
                found.append((workload, name, metric, value))
    return found


def keeps(samples, workloads, contenders, base, options, meter, progress):
    """What exceeds the limit runs again, twice as often and beside the base alone, before it counts."""
    rungs = [name for name, contender in contenders.items() if contender.kind == "rung" and name != base]
    metrics = (options.clock, "peak")
    pairs = pairs_of(samples, base, rungs)
    for again in range(2):
        found = over_limit(pairs, options.check, metrics)
        if not found:
            break
        print(f"over {options.check:g}, measured again: {', '.join(sorted({workload for workload, *_ in found}))}", file=sys.stderr)
        for workload, name in dict.fromkeys((workload, name) for workload, name, *_ in found):
            fresh = {}
            pair = {base: contenders[base], name: contenders[name]}
            interleave(2 * options.rounds, [one for one in workloads if one.name == workload], pair, meter, progress, fresh,
                       f"check {again + 1}, round")
            own, beside = pairs[workload, name]
            own += fresh[workload][name]
            beside += fresh[workload][base]
    found = over_limit(pairs, options.check, metrics)
    for workload, name, metric, value in found:
        print(f"FAILED: {workload} under {name}: {METRICS[metric]} is {value:.3f} of {base}'s; the limit is {options.check:g}")
    if not found:
        print(f"every program keeps the limit: {METRICS[options.clock]} and {METRICS['peak']} within {options.check:g} of {base}'s")
    return not found
