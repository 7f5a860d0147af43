#!/usr/bin/python3
"""count-calls against a program whose calls are known: count_calls.py COUNT-CALLS KNOWN-CALLS"""

import json
import pathlib
import subprocess
import sys
import tempfile

counter, known = sys.argv[1:]


def run(*command):
    with tempfile.TemporaryDirectory() as directory:
        out = pathlib.Path(directory, "out.json")
        done = subprocess.run([counter, out, *command], capture_output=True, text=True, timeout=60)
        if "ptrace is forbidden" in done.stderr:
            print(f"skipped: {done.stderr.strip()}")
            sys.exit(77)
        return done, json.loads(out.read_text())


none, before = run(known, "0")
some, after = run(known, "37")
for done in (none, some):
    assert done.returncode == 42, f"status {done.returncode} is not the program's own 42; {done.stderr}"
    assert done.stdout == "done\n", f"the program's output is {done.stdout!r}"
for call in ("mmap", "munmap"):
    counted = after[call] - before[call]
    assert counted == 3 * 37, f"{counted} {call} calls counted of {3 * 37}"
for call in ("mremap", "madvise"):
    assert after[call] == before[call], f"{call}: {after[call]} and {before[call]}, but the program makes none"

killed, _ = run("sh", "-c", "kill -KILL $$")
assert killed.returncode == 128 + 9, f"a killed program gave status {killed.returncode}"
absent, _ = run("/nonexistent/program")
assert absent.returncode == 127 and "cannot run /nonexistent/program" in absent.stderr, absent
print("111 mmap and 111 munmap calls in two threads and a child, all counted")
