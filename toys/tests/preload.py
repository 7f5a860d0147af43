#!/usr/bin/python3
"""Programs that exist print the same with a toy under them as without: preload.py TOY.so"""

import os
import subprocess
import sys
import tempfile

toy = os.path.realpath(sys.argv[1])
environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "GLIBC_TUNABLES")}
failures = []


def run(command, preload, **more):
    env = {**environment, "LC_ALL": "C", **more}
    if preload:
        env["LD_PRELOAD"] = toy
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)


def same_with_and_without(command):
    plain, under_toy = run(command, False), run(command, True)
    if plain.returncode != 0:
        failures.append(f"{command} fails without the toy: {plain.stderr}")
    for what in ("returncode", "stdout", "stderr"):
        if getattr(plain, what) != getattr(under_toy, what):
            failures.append(f"{command}: {what} {getattr(under_toy, what)!r:.300}, not {getattr(plain, what)!r:.300}")


def check_binding():
    """That the toy serves a program's calls; without it the rest would compare the libc with itself."""
    trace = run(["/bin/ls", "/"], True, LD_DEBUG="bindings").stderr
    for symbol in ("malloc", "free", "realloc", "calloc"):
        if not any(f"to {toy} " in line and f"`{symbol}'" in line for line in trace.splitlines()):
            failures.append(f"the loader does not bind {symbol} of /bin/ls to {toy}")


def main():
    check_binding()
    with tempfile.TemporaryDirectory() as directory:
        words = os.path.join(directory, "words")
        with open(words, "w") as file:
            for i in range(5000):
                file.write(f"{i * 7919 % 5003} line {i}\n")
        script = "import threading, json; t = [threading.Thread(target=lambda: [str(i) * 9 for i in range(9999)]) " \
                 "for _ in range(4)]; [x.start() for x in t]; [x.join() for x in t]; print(json.dumps(list(range(999))))"
        for command in (
            ["/bin/ls", "-la", "/usr/bin"],
            ["/bin/cat", words],
            ["/usr/bin/sort", "-n", words],
            ["/usr/bin/sort", "--parallel=2", words],
            ["/usr/bin/wc", words],
            ["/bin/sh", "-c", f"grep 7 {words} | sort | uniq -c | tail -3"],
            ["/usr/bin/python3", "-c", script],
        ):
            same_with_and_without(command)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
