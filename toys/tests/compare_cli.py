#!/usr/bin/python3
"""compare.py refuses what it cannot measure instead of measuring something else: compare_cli.py COMPARE BUILD"""

import pathlib
import subprocess
import sys
import tempfile

compare, build = sys.argv[1:]


def refused(message, *options):
    done = subprocess.run([sys.executable, compare, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 2, f"{options}: status {done.returncode}, not 2\n{done.stdout}{done.stderr}"
    assert message in done.stderr, f"{options}: stderr has no {message!r}:\n{done.stderr}"


with tempfile.TemporaryDirectory() as directory:
    text_file = pathlib.Path(directory, "librung.so")
    text_file.write_text("not a library\n")
    refused("build first", "--build", directory)
    refused("no such file", "--build", build, "--rung", f"{directory}/absent.so")
    # The loader ignores what it cannot load, and the libc's own malloc would be measured under Rung's name.
    refused("cannot be preloaded", "--build", build, "--rung", text_file, "--rounds", "1", "--steps", "100")
    refused("must be at least 1", "--rounds", "0")
print("refused: no build, no library, no loadable library, no rounds")
