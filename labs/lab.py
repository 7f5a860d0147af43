#!/usr/bin/python3
"""Run the labs: measurements of an allocator's structure that anyone can repeat. `rung lab` starts this program."""

import argparse
import json
import sys
from pathlib import Path
from typing import Optional, Sequence

from experiments import LABS
from kit import draw, pages, terminal
from kit.allocators import Allocator, named
from kit.errors import BUILD, CannotRun
from kit.lab import Lab
from kit.outcome import Outcome, machine, machine_line, run_lab
from kit.programs import SKIP_STATUS, Bench

HERE = Path(__file__).resolve().parent
BUILD_DIRECTORIES = ("build/release", "build/debug")

EPILOG = """The claims are those a glibc 2.43 bears out; the profile rung:glibc must bear them out too, and so must
rung:default unless the claim names the reason. What the C library of this machine answers differently because it is
older is shown as such, and so is what another allocator answers because it is built differently.
Exit status: 0, 1 when a claim fails, 2 for a wrong command line, 77 when the lab cannot run on this machine."""


def parse_arguments(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rung lab", description=__doc__, epilog=EPILOG)
    parser.add_argument("names", nargs="*", metavar="LAB", help="the labs to run; none lists them")
    parser.add_argument("--all", action="store_true", help="run every lab")
    parser.add_argument("--under", action="append", default=[], metavar="ALLOCATOR",
                        help="glibc, rung, rung:PROFILE or a library's path; repeatable, shown side by side "
                             "(default: rung)")
    parser.add_argument("--quick", action="store_true", help="fewer operations where a lab has many")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE as well")
    parser.add_argument("--pictures", type=Path, metavar="DIR", help="draw the labs that have a picture (SVG)")
    parser.add_argument("--docs", type=Path, metavar="DIR", help="write a page a lab and an index, with pictures, into DIR")
    parser.add_argument("--names", action="store_true", dest="only_names",
                        help="print the labs' names, one a line, with \"timed\" behind those to run alone and "
                             "\"anywhere\" behind those that are the same under every allocator")
    parser.add_argument("--librung", type=Path, metavar="FILE", help="the librung.so to run under")
    parser.add_argument("--bindir", type=Path, metavar="DIR", help="where the lab programs were built")
    return parser.parse_args(argv)


def build_directory() -> Optional[Path]:
    candidates = (HERE.parent / directory for directory in BUILD_DIRECTORIES)
    return next((d for d in candidates if (d / "labs").is_dir()), None)


def built(build: Optional[Path], name: str) -> Optional[Path]:
    return build / name if build is not None and (build / name).exists() else None


def chosen_labs(arguments: argparse.Namespace) -> list[Lab]:
    if arguments.all:
        return list(LABS)
    known = {lab.name: lab for lab in LABS}
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        raise CannotRun(f"there is no lab called {', '.join(unknown)}: `rung lab` lists them")
    return [known[name] for name in arguments.names]


def chosen_allocators(arguments: argparse.Namespace, librung: Optional[Path]) -> list[Allocator]:
    wanted = arguments.under or (["rung:glibc", "rung:default", "glibc"] if arguments.docs else ["rung"])
    return [named(text, librung) for text in wanted]


def run_all(labs: Sequence[Lab], allocators: Sequence[Allocator], bench: Bench) -> list[Outcome]:
    outcomes = []
    for number, lab in enumerate(labs, 1):
        if sys.stderr.isatty():
            print(f"[{number}/{len(labs)}] {lab.name} ...", end="\r", file=sys.stderr, flush=True)
        outcomes.append(run_lab(lab, allocators, bench))
        print(terminal.text(outcomes[-1]), flush=True)
    return outcomes


def report(arguments: argparse.Namespace, outcomes: Sequence[Outcome]) -> None:
    if arguments.json is not None:
        document = {"machine": machine(), "labs": [terminal.as_json(outcome) for outcome in outcomes]}
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    if arguments.pictures is not None:
        for path in draw.draw_all(outcomes, arguments.pictures):
            print(f"  {path}")
    if arguments.docs is not None:
        pages.write(outcomes, LABS, arguments.docs, HERE.parent)
        print(f"  {arguments.docs / 'README.md'}")


def prepare(arguments: argparse.Namespace) -> tuple[list[Lab], list[Allocator], Bench]:
    """What to run, under what, and with what; raises CannotRun before anything has been measured."""
    build = build_directory()
    librung = arguments.librung or built(build, "librung.so")
    bindir = arguments.bindir or built(build, "labs")
    if bindir is None:
        raise CannotRun(f"the lab programs were not found: build them ({BUILD}) "
                        "or name their directory with --bindir DIR")
    pictures = arguments.pictures is not None or arguments.docs is not None
    if pictures:
        draw.check()
    if arguments.docs is not None and not arguments.all:
        raise CannotRun("--docs needs --all: the pages link to each other")
    bench = Bench(bindir, librung, arguments.quick, pictures)
    return chosen_labs(arguments), chosen_allocators(arguments, librung), bench


def main(argv: Optional[Sequence[str]] = None) -> int:
    arguments = parse_arguments(argv)
    if arguments.only_names:
        print("\n".join(lab.name + " timed" * lab.timed + " anywhere" * (not lab.depends_on_allocator)
                        for lab in LABS))
        return 0
    if not arguments.all and not arguments.names:
        print(terminal.listing(LABS))
        return 0
    try:
        labs, allocators, bench = prepare(arguments)
        outcomes = run_all(labs, allocators, bench)
        report(arguments, outcomes)
    except CannotRun as error:
        print(f"rung lab: {error}", file=sys.stderr)
        return 2
    if len(outcomes) > 1:
        print(terminal.table([[o.lab.name, terminal.summary(o)] for o in outcomes], 110, widest_cell=76))
        print(f"\n  on {machine_line()}")
    if any(outcome.failed for outcome in outcomes):
        return 1
    return SKIP_STATUS if all(outcome.skipped for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
