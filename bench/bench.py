#!/usr/bin/python3
"""Compares allocators, in time and in memory.

In each round every workload runs once under every allocator, one after the other, in an order that changes from round
to round. Figures are medians; ratios are medians of the ratios to the base within a round. Every run must print the
same, whatever allocator is under it. docs/performance.md says more.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from kit import ablation, contenders, export, page, plots, rounds, tables, verdict, views, workloads
from kit.errors import Failure, not_built
from kit.measure import Meter
from kit.memory import figures as memory_figures, measure as memory
from kit.progress import Progress

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = """examples:
  rung bench --quick                                     a first impression, in minutes
  rung bench --html compared.html --json compared.json   everything
  rung bench --only 'replace-*,tree' --under rung:default --under rung:default,runs=off --base rung:default
  rung bench --under rung:glibc --check 1.05 --clock cpu exit status 1 if Rung needs more than that of the system's
  rung bench --ablation --json ablation.json             each mechanism off in turn
  rung bench --memory --html memory.html                 memory over time, and whether Rung gives back what it owes
  rung bench --memory --only pools,silence --under rung:default --rounds 1 --owed
  rung bench --from compared.json --from ablation.json --html both.html
"""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="rung bench", description=__doc__.split("\n")[0], epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--list", action="store_true", help="print the workloads and the allocators and stop")
    add("--only", action="append", default=[], metavar="PATTERN", help="workloads: names, with * and ?, or groups (own, real, scaling, more); commas between several")
    add("--under", action="append", default=[], metavar="ALLOCATOR", help="system, jemalloc, mimalloc, tcmalloc, rung:PROFILE[,OPTION=VALUE...], PATH or NAME=PATH of a library; may be repeated; default: all that are found")
    add("--base", metavar="ALLOCATOR", help="what ratios are formed to (default: system)")
    add("--rounds", type=int, metavar="N", help="(default: 5; 1 with --memory)")
    add("--scale", type=float, metavar="X", help="amount of work of the project's own workloads (default: 1)")
    add("--rest", type=float, metavar="SECONDS", help="after so long memory at rest is read; 0 for leaving that and the counters out (default: 3)")
    add("--quick", action="store_true", help="two rounds, a quarter of the work, no memory at rest and no counters")
    add("--ablation", action="store_true", help=f"compare {contenders.FULL} with itself less one mechanism, for each")
    add("--memory", action="store_true", help="sample memory over time in programs that other allocators are known to bloat; --list names them")
    add("--owed", action="store_true", help="with --memory: exit 1 when Rung misses anything it owes")
    add("--check", type=float, metavar="LIMIT", help="exit 1 when a ratio of Rung's to the base, in time or peak memory, exceeds LIMIT, as in 1.05")
    add("--clock", choices=("time", "cpu"), default="time", help="what --check judges time by (default: time by the clock)")
    add("--html", metavar="FILE", help="write a page with plots there")
    add("--json", metavar="FILE", help="write all samples and the summary there")
    add("--csv", metavar="FILE", help="write the summary there, a line a workload and allocator")
    add("--from", dest="earlier", action="append", default=[], metavar="FILE", help="measure nothing, show what --json wrote; may be repeated for --html")
    add("--timeout", type=float, default=300, metavar="SECONDS", help="one run may take so long (default: 300)")
    add("--rung", type=Path, default=ROOT / "build/release/librung.so", metavar="FILE", help="the library (default: build/release/librung.so)")
    add("--programs", type=Path, metavar="DIRECTORY", help="of the built programs (default: bench/ beside the library)")
    options = parser.parse_args(arguments)
    usual = (1, 1.0, 0.0) if options.memory else (2, 0.25, 0.0) if options.quick else (5, 1.0, 3.0)
    for name, value in zip(("rounds", "scale", "rest"), usual):
        if getattr(options, name) is None:
            setattr(options, name, value)
    if options.rounds < 1 or options.scale <= 0 or options.rest < 0:
        parser.error("--rounds and --scale must be above 0, --rest not below")
    if options.ablation and (options.under or options.base):
        parser.error("--ablation chooses the allocators and the base itself")
    if options.memory and (options.ablation or options.base or options.check is not None or options.quick):
        parser.error("--memory goes with none of --ablation, --base, --check and --quick")
    if options.owed and (not options.memory or options.scale != 1):
        parser.error("--owed goes with --memory and --scale 1: with less work nothing is owed")
    if options.csv and len(options.earlier) > 1:
        parser.error("--csv is of one measurement: give one --from")
    options.rung = options.rung.absolute()
    options.programs = (options.programs or options.rung.parent / "bench").absolute()
    return options


def choose_contenders(options):
    """Who runs, and who of them is the base."""
    if not options.rung.is_file() and not options.earlier:
        raise Failure(f"{not_built(options.rung)} or give --rung")
    if options.ablation:
        return ablation.choose(options.rung), ablation.EVERYTHING
    chosen = contenders.choose(options.under, options.base, options.rung)
    return chosen, next(iter(chosen))


def say_what_there_is(options):
    for group, members in workloads.GROUPS.items():
        print(f"{group + ':':9}", *members)
    print("allocators:")
    for name, contender in choose_contenders(options)[0].items():
        print(f"  {name:24} {contender.library or 'what the program is linked with'}")
    return 0


def prepare(names, place, options, skipped, progress):
    """The workloads whose input is made; what cannot run here is named and left out."""
    if not (options.programs / "launch").is_file():
        raise not_built(options.programs / 'launch')
    libc = contenders.shared_libraries().get("libc.so.6", "")
    environment = contenders.clean_environment()
    ready = []
    for name in names:
        progress.step(f"making the input of {name}")
        workload = workloads.make(name, place, options.programs, options.scale, libc)
        why = workloads.prepare(workload, environment)
        if why:
            skipped[name] = why
            progress.clear()
            print(f"{name} is left out: {why}", file=sys.stderr)
        else:
            ready.append(workload)
    progress.clear()
    if not ready:
        raise Failure("none of the programs can run here")
    return ready


def measure(options, names):
    """The document of a comparison or an ablation, and whether --check was kept."""
    chosen, base = choose_contenders(options)
    if options.check is not None and not any(one.kind == "rung" and name != base for name, one in chosen.items()):
        raise Failure("--check judges Rung: have it among the allocators, and not as the base")
    progress, meter = Progress(), Meter(options.programs, options.timeout)
    samples, skipped, aside, kept, trouble = {}, {}, {}, True, None
    with tempfile.TemporaryDirectory(prefix="rung-bench.") as place:
        ready = prepare(names, place, options, skipped, progress)
        rounds.interleave(options.rounds, ready, chosen, meter, progress, samples)
        if options.rest:
            try:
                aside = rounds.aside(ready, chosen, meter, progress, options.rest)
            except Failure as why: # what was timed is not lost for it
                trouble = why
        kind = "ablation" if options.ablation else "comparison"
        document = export.document(kind, base, chosen, ready, samples, aside, skipped, options)
        show(options, [document])
        if options.check is not None:
            kept = verdict.keeps(samples, ready, chosen, base, options, meter, progress)
    if trouble:
        raise trouble
    return kept


def measure_memory(options):
    """Whether --owed was kept."""
    document = memory.measure(options)
    [(_, summary)] = show(options, [document])
    missed = memory_figures.missed(summary)
    for scenario, name, label, value, owed in missed if options.owed else ():
        print(f"FAILED: {scenario} under {name}: {label}: {value:.2f}; owed is {owed}")
    return not (options.owed and missed)


def show(options, documents):
    """Prints the tables and writes the files that were asked for. Pairs of each document and its summary."""
    shown = [(document, views.of(document).summarise(document)) for document in documents]
    for document, summary in shown:
        print("\n\n".join(tables.text(table) for table in views.of(document).tables(document, summary)))
        if document["skipped"]:
            print("\nleft out:", "; ".join(f"{name}: {why}" for name, why in document["skipped"].items()))
    if options.json and not options.earlier:
        export.write_json(options.json, *shown[0])
    if options.csv:
        views.of(shown[0][0]).write_csv(options.csv, *shown[0])
    if options.html:
        page.write(options.html, shown)
    return shown


def bench(options):
    if options.html:
        plots.load()
    if options.earlier:
        show(options, [export.read_json(path) for path in options.earlier])
        return 0
    if options.memory:
        if options.list:
            print(memory.listing(options))
            return 0
        return 0 if measure_memory(options) else 1
    names = workloads.choose(options.only)
    if options.list:
        return say_what_there_is(options)
    return 0 if measure(options, names) else 1


def stop(signum, frame):
    raise KeyboardInterrupt


def main():
    options = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` is no mistake
    try:
        return bench(options)
    except Failure as failure:
        print(f"\nrung bench: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nrung bench: stopped before its end, nothing is compared", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
