#!/usr/bin/python3
"""Each toy is short, and each step from one to the next is small."""

import difflib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parents[1]
MOST_LINES = 199
# From freelist on each toy is the one before with one thing more: this many lines removed and added. The comment that
# opens the file is written anew for each and not counted. Freelist shares no more with bump than the interface.
STEPS = {("freelist", "trim"): (0, 20), ("trim", "mmap"): (2, 25)}


def code(toy):
    text = (HERE / f"{toy}.c").read_text()
    return text[text.index("*/") :].splitlines()


def main():
    failures = []
    for toy in ("bump", "freelist", "trim", "mmap"):
        lines = len((HERE / f"{toy}.c").read_text().splitlines())
        print(f"{toy}: {lines} lines")
        if lines > MOST_LINES:
            failures.append(f"{toy}.c has {lines} lines, more than {MOST_LINES}")
    for (before, after), (most_removed, most_added) in STEPS.items():
        changes = [line[0] for line in difflib.ndiff(code(before), code(after))]
        removed, added = changes.count("-"), changes.count("+")
        print(f"{before} to {after}: {removed} lines removed, {added} added")
        if removed > most_removed or added > most_added:
            failures.append(f"the step from {before} to {after} is larger than {most_removed} removed, {most_added} added")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
