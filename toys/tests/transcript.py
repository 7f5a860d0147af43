#!/usr/bin/python3
"""Runs a demo and compares what it prints with its transcript: transcript.py DEMO TRANSCRIPT

Everything must be equal but the last column of give_back's lines, the anonymous RSS. That includes what the libc and the
loader have written to, which differs from one libc to the next: it may be off by TOLERANCE. From one line to the next the
libc's share stays, so the differences may be off by a page or two only."""

import pathlib
import re
import subprocess
import sys

TOLERANCE = 96  # KiB, a line's RSS
STEP_TOLERANCE = 12  # KiB, its difference to the line before
RSS = re.compile(r" +(\d+) KiB$")


def split(text):
    """The lines without their RSS, and the RSS of the lines that have one."""
    lines = text.splitlines()
    with_rss = [RSS.search(line) for line in lines]
    return [RSS.sub("", line) for line in lines], [int(m.group(1)) for m in with_rss if m]


def differences(numbers):
    return [b - a for a, b in zip(numbers, numbers[1:])]


def compare(got, wanted):
    got_lines, got_rss = split(got)
    wanted_lines, wanted_rss = split(wanted)
    problems = [f"line {n}: {g!r}, not {w!r}" for n, (g, w) in enumerate(zip(got_lines, wanted_lines), 1) if g != w]
    if len(got_lines) != len(wanted_lines) or len(got_rss) != len(wanted_rss):
        problems.append(f"{len(got_lines)} lines, not {len(wanted_lines)}")
        return problems
    for g, w in zip(got_rss, wanted_rss):
        if abs(g - w) > TOLERANCE:
            problems.append(f"RSS {g} KiB, not {w} +- {TOLERANCE}")
    for g, w in zip(differences(got_rss), differences(wanted_rss)):
        if abs(g - w) > STEP_TOLERANCE:
            problems.append(f"RSS changes by {g} KiB, not by {w} +- {STEP_TOLERANCE}")
    return problems


def main():
    demo, transcript = sys.argv[1:]
    done = subprocess.run([demo], capture_output=True, text=True, timeout=60)
    print(done.stdout, done.stderr, sep="", end="")
    problems = compare(done.stdout, pathlib.Path(transcript).read_text())
    if done.returncode != 0:
        problems.append(f"exit status {done.returncode}")
    for problem in problems:
        print(f"differs from {transcript}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
