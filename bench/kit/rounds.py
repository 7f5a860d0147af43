"""The order of the runs."""

from concurrent.futures import ThreadPoolExecutor


def order(names, turn):
    """The names from another one on in each turn, and backwards in every second: nobody is always first or always
    after the same other."""
    start = turn % len(names)
    turned = names[start:] + names[:start]
    return turned if turn // len(names) % 2 == 0 else turned[::-1]


def interleave(count, workloads, contenders, meter, progress, samples, title="round"):
    """Adds `count` samples a workload and contender. In a round each workload runs once under each contender, one
    directly after the other, so that a machine that slows down slows all of them."""
    names = list(contenders)
    progress.plan(count * len(workloads) * len(names), count * len(names) * sum(workload.work for workload in workloads))
    for number in range(count):
        for at, workload in enumerate(workloads):
            for name in order(names, number + at):
                progress.step(f"{title} {number + 1} of {count}: {workload.name} under {name}", workload.work)
                sample = meter.run(workload, contenders[name])
                samples.setdefault(workload.name, {one: [] for one in names})[name].append(sample)
    progress.clear()


def aside(workloads, contenders, meter, progress, rest):
    """One more run each, not timed and a few at a time: memory at rest where the program can tell, and Rung's
    counters. workload -> contender -> figures."""
    jobs = [(workload, contender) for workload in workloads for contender in contenders.values()
            if contender.kind == "rung" or (workload.built and workload.group != "scaling")]
    progress.plan(len(jobs))

    def one(workload, contender):
        resting = rest if workload.built and workload.group != "scaling" else None
        figures = meter.run(workload, contender, rest=resting, counters=contender.kind == "rung")
        progress.step(f"memory at rest, counters: {workload.name} under {contender.name}")
        return figures

    found = {}
    with ThreadPoolExecutor(max_workers=4) as pool:
        pending = [(workload.name, contender.name, pool.submit(one, workload, contender)) for workload, contender in jobs]
        try:
            for workload, contender, figures in pending:
                found.setdefault(workload, {})[contender] = figures.result()
        finally:
            for _, _, figures in pending:
                figures.cancel()
    progress.clear()
    return found
