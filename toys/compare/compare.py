#!/usr/bin/python3
"""Runs one load on the toys, on glibc, on installed peers and on Rung, and judges what it shows. See toys/README.md."""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import allocators
import claims

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FULL = {"rounds": 5, "steps": 372000}
QUICK = {"rounds": 5, "steps": 60000}
LONGEST_RUN = 300  # seconds; more means a hang
EXIT_CLAIM_FAILED, EXIT_CANNOT_RUN, EXIT_NOT_JUDGED = 1, 2, 77


class CannotRun(Exception):
    """The message says what to do about it."""


def arguments():
    p = argparse.ArgumentParser(
        description="Compare the toy allocators with glibc, installed peers and Rung on one load.",
        epilog="Exit status: 0 all claims hold, 1 a claim fails, 2 cannot run, 77 no claim fails but some could not be "
        "judged.",
    )
    p.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build" / "release", metavar="DIR",
                   help="build directory (default: build/release of the repository)")
    p.add_argument("--rung", type=pathlib.Path, metavar="PATH", help="librung.so, to be run in each of its profiles")
    p.add_argument("--json", type=pathlib.Path, metavar="OUT", help="write results and claims as JSON")
    p.add_argument("--svg", type=pathlib.Path, metavar="OUT", help="draw the results")
    p.add_argument("--quick", action="store_true", help=f"{QUICK['steps']} steps and {QUICK['rounds']} rounds "
                   f"in place of {FULL['steps']} and {FULL['rounds']}")
    p.add_argument("--rounds", type=int, metavar="N", help="timed runs an allocator")
    p.add_argument("--steps", type=int, metavar="N", help="steps a run")
    p.add_argument("--seed", type=int, default=1, metavar="N")
    args = p.parse_args()
    for name, value in (QUICK if args.quick else FULL).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
        elif getattr(args, name) < 1:
            p.error(f"--{name} must be at least 1")
    return args


def check_installation(args):
    if "glibc" not in (os.confstr("CS_GNU_LIBC_VERSION") or ""):
        raise CannotRun("the comparison is with glibc, and this system's C library is another one")
    for file in ("workload", "count-calls", *(f"{toy}.so" for toy in allocators.TOYS)):
        if not (args.build / "toys" / file).exists():
            raise CannotRun(f"{args.build / 'toys' / file} is missing; build first "
                            "(cmake --preset release && cmake --build --preset release) or name the directory with --build")
    if args.rung and not args.rung.is_file():
        raise CannotRun(f"--rung {args.rung}: no such file; give the path of librung.so")
    if args.svg:
        try:
            import picture  # noqa: F401  (asked early: a missing package must not cost a whole run)
        except ImportError as error:
            raise CannotRun(f"--svg needs matplotlib ({error}); install python3-matplotlib and use /usr/bin/python3") from error


def execute(allocator, command):
    try:
        done = subprocess.run(command, env=allocator.environment(), capture_output=True, text=True, timeout=LONGEST_RUN)
    except subprocess.TimeoutExpired as error:
        raise CannotRun(f"{allocator.name}: no result after {LONGEST_RUN} s: {' '.join(command)}") from error
    # The loader goes on with the libc's own malloc after such a complaint, which would then be measured instead.
    if done.returncode != 0 or "cannot be preloaded" in done.stderr:
        raise CannotRun(f"{allocator.name}: {' '.join(command)} ended with {done.returncode}\n{done.stderr.strip()}")
    return done.stdout


def workload(args, blocks=None):
    command = [str(args.build / "toys" / "workload"), "--steps", str(args.steps), "--seed", str(args.seed)]
    return command if blocks is None else [*command, "--blocks", str(blocks)]


def count_calls(args, allocator):
    """The kernel's memory calls on account of the blocks: less those of a process that only starts and ends.
    None where ptrace is forbidden."""
    counts = []
    with tempfile.TemporaryDirectory() as directory:
        out = pathlib.Path(directory, "calls.json")
        for command in (workload(args), workload(args, blocks=0)):
            try:
                execute(allocator, [str(args.build / "toys" / "count-calls"), str(out), *command])
            except CannotRun as error:
                if "ptrace is forbidden" not in str(error):
                    raise
                return None
            counts.append(json.loads(out.read_text()))
    return {call: counts[0][call] - counts[1][call] for call in counts[0]}


def progress(text):
    print(text, end="", file=sys.stderr, flush=True)


def measure(args, subjects):
    """The allocators take turns, so that a busy minute of the machine falls on all of them."""
    runs = {a.name: [] for a in subjects}
    for number in range(1, args.rounds + 1):
        progress(f"round {number} of {args.rounds}:")
        for a in subjects:
            progress(f" {a.name};")
            runs[a.name].append(json.loads(execute(a, workload(args))))
        progress("\n")
    progress("counting system calls:")
    results = {}
    for a in subjects:
        progress(f" {a.name};")
        results[a.name] = summary(a, runs[a.name], count_calls(args, a))
    progress("\n")
    return results


def kind(name):
    if name in allocators.TOYS:
        return "toy"
    first = name.replace(",", "").split()[0]
    return first if first in ("glibc", "rung") else "peer"


def summary(allocator, runs, calls):
    result = {"name": allocator.name, "kind": kind(allocator.name), "library": allocator.library,
              "settings": dict(allocator.settings)}
    for key in runs[0]:  # median_low: counts stay whole numbers with an even number of rounds
        result[key] = statistics.median_low(run[key] for run in runs)
    result["ns_per_step_runs"] = [run["ns_per_step"] for run in runs]
    result["calls"] = calls
    return result


def print_table(results):
    glibc = results["glibc"]["ns_per_step"]
    print(f"{'':31}{'ns per step':>12}{'(min..max)':>18}{'x glibc':>9}{'RSS live':>10}{'RSS kept':>10}"
          f"{'faults':>9}{'mmap':>7}{'brk':>8}")
    for r in results.values():
        spread = f"({min(r['ns_per_step_runs']):.0f}..{max(r['ns_per_step_runs']):.0f})"
        calls = r["calls"] or {"mmap": "-", "brk": "-"}
        print(f"{r['name']:31}{r['ns_per_step']:12.1f}{spread:>18}{r['ns_per_step'] / glibc:9.2f}"
              f"{r['rss_live_kib'] / 1024:10.3f}{r['rss_kept_kib'] / 1024:10.3f}{r['faults_in_steps']:9.0f}"
              f"{calls['mmap']:>7}{calls['brk']:>8}")
    any_result = results["glibc"]
    print(f"\nmedians; times are CPU time, RSS is anonymous, in MiB; {any_result['requests']} requests for "
          f"{any_result['requested_bytes'] / 2**20:.0f} MiB in all, {any_result['large_requests']} of them of 128 KiB or "
          f"more; {any_result['live_bytes'] / 2**20:.1f} MiB live at the end\n")


def print_claims(judged):
    for c in judged:
        print(f"{c.verdict():>10}  {c.id}: {c.text}\n{'':12}{c.measured} (bound: {c.bound})")


def write_json(args, results, judged):
    document = {
        "machine": {"kernel": platform.release(), "architecture": platform.machine(), "cpus": os.cpu_count(),
                    "libc": os.confstr("CS_GNU_LIBC_VERSION")},
        "parameters": {"rounds": args.rounds, "steps": args.steps, "seed": args.seed},
        "allocators": list(results.values()),
        "claims": [{"id": c.id, "text": c.text, "measured": c.measured, "bound": c.bound, "holds": c.holds}
                   for c in judged],
    }
    args.json.write_text(json.dumps(document, indent=2) + "\n")


def main():
    args = arguments()
    args.build = args.build.resolve()
    args.rung = args.rung and args.rung.resolve()
    try:
        check_installation(args)
        results = measure(args, allocators.all_allocators(args.build, args.rung))
    except CannotRun as error:
        print(f"\ncompare: {error}", file=sys.stderr)
        return EXIT_CANNOT_RUN
    judged = claims.judge(results)
    print_table(results)
    print_claims(judged)
    if args.json:
        write_json(args, results, judged)
    if args.svg:
        import picture
        picture.draw(list(results.values()), args.svg)
    if any(c.holds is False for c in judged):
        return EXIT_CLAIM_FAILED
    return EXIT_NOT_JUDGED if any(c.holds is None for c in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
