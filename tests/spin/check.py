#!/usr/bin/env python3
"""Checks a model of one of Rung's protocols with spin, and that its mutants are found wrong.

  check.py MODEL.pml                 prints one line; exits 1 with a trace of the steps if anything is not as it says
  check.py --trace MUTANT MODEL.pml  prints the steps that show what is wrong with a mutant

The model's head says what to check; DEFINES are macros for it, as in THREADS=2:

  // run DEFINES                          all reachable states: assertions and deadlocks
  // live DEFINES                         its formula, whoever gets to run
  // fair DEFINES                         its formula, if who can always go on is not left out for ever
  // unreached STATEMENT: why             a statement that no `run` need come to; they come to all others
  // mutant NAME (KIND) DEFINES: what     with NAME defined there must be an error of the kind assertion, deadlock
                                          or cycle (the formula does not hold)
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LINE = re.compile(r"^// (run|live|fair|unreached|mutant)\b *(.*)$", re.M)
MUTANT = re.compile(r"(\w+) \((assertion|deadlock|cycle)\) ?([^:]*): .+")
KINDS = [("assertion violated", "assertion"), ("invalid end state", "deadlock"), ("acceptance cycle", "cycle")]
COMPILER = {"run": ["-DSAFETY", "-DNOCLAIM"], "live": [], "fair": []}
SEARCH = {"run": [], "live": ["-a"], "fair": ["-a", "-f"]}
DEPTH, MEGABYTES, SECONDS = 100_000, 2048, 300


class Wrong(Exception):
    pass


def call(command, directory):
    try:
        done = subprocess.run(command, cwd=directory, timeout=SECONDS, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        raise Wrong(f"{' '.join(command)}: not done after {SECONDS} s")
    return done.returncode, done.stdout


class Search:
    """One search through the model's states."""

    def __init__(self, model, mode, defines, optimise="-O1"): # -O2 takes longer to compile than it saves here
        self.name = f"{mode} {' '.join(defines)}".strip()
        macros = [f"-D{d}" for d in defines]
        with tempfile.TemporaryDirectory(prefix="rung-spin-") as directory:
            shutil.copy(model, directory)
            spin = ["spin", *macros, "-a", model.name]
            gcc = ["gcc", optimise, "-w", f"-DMEMLIM={MEGABYTES}", *COMPILER[mode], *macros, "-o", "pan", "pan.c"]
            for command in (spin, gcc):
                failed, output = call(command, directory)
                if failed:
                    raise Wrong(f"{' '.join(command)}:\n{output}")
            _, self.output = call(["./pan", f"-m{DEPTH}", *SEARCH[mode]], directory)
            self.trace = ""
            if pathlib.Path(directory, model.name + ".trail").exists():
                self.trace = call(["spin", *macros, "-t", "-p", "-g", model.name], directory)[1]
        errors = re.search(r"errors: (\d+)", self.output)
        states = re.search(r"^ *([\d.e+]+) states, stored", self.output, re.M)
        if errors is None or states is None:
            raise Wrong(f"{self.name}: the search has no result:\n{self.output}")
        self.errors = int(errors[1])
        self.states = int(float(states[1]))

    def kind(self):
        return next((kind for text, kind in KINDS if f"pan:1: {text}" in self.output), "none")

    def unreached(self):
        for process, steps in re.findall(r"^unreached in (?:proctype )?(\w+)\n((?:\t.*\n)*)", self.output, re.M):
            for line, step in re.findall(r":(\d+), state \d+, \"(.*)\"$", steps, re.M):
                yield step, f"line {line}, in {process}: {step}"

    def expect_right(self):
        if self.errors != 0:
            raise Wrong(f"{self.name}: {self.kind()}\n{self.trace}")
        for text in ("Search not completed", "max search depth too small", "out of memory", "memory limit"):
            if text in self.output:
                raise Wrong(f"{self.name}: {text}; the model has to become smaller:\n{self.output}")


def read_head(model):
    told = {"run": [], "live": [], "fair": [], "unreached": [], "mutant": []}
    for word, rest in LINE.findall(model.read_text()):
        if word == "mutant":
            m = MUTANT.fullmatch(rest)
            if m is None:
                raise Wrong(f"not as `// mutant NAME (KIND) DEFINES: what`: {rest}")
            told[word].append((m[1], m[2], m[3].split()))
        elif word == "unreached":
            told[word].append(rest.split(": ")[0])
        else:
            told[word].append(rest.split())
    if not told["run"] or not told["mutant"] or not (told["live"] or told["fair"]):
        raise Wrong("its head must have `// run`, `// live` or `// fair`, and `// mutant`")
    if not any(kind == "cycle" for _, kind, _ in told["mutant"]):
        raise Wrong("no mutant is one that its formula has to find")
    return told


def search_mutant(model, told, name, kind, defines):
    mode = "run" if kind != "cycle" else "live" if told["live"] else "fair"
    return Search(model, mode, [name, *defines], "-O0") # the error is found long before the end


def check(model):
    told = read_head(model)
    states = 0
    for mode in ("run", "live", "fair"):
        for defines in told[mode]:
            search = Search(model, mode, defines)
            search.expect_right()
            states += search.states
            missed = [where for step, where in search.unreached() if step not in told["unreached"]]
            if mode == "run" and missed:
                raise Wrong(f"{search.name}: never comes to\n" + "\n".join(missed))
    for name, kind, defines in told["mutant"]:
        search = search_mutant(model, told, name, kind, defines)
        if search.kind() != kind:
            raise Wrong(f"{search.name}: found {search.kind()} instead of {kind}\n{search.output}{search.trace}")
    names = " ".join(name for name, _, _ in told["mutant"])
    print(f"{model.stem}: errors: 0 in {states} states; found wrong: {names}")


def trace(model, name):
    told = read_head(model)
    for mutant in told["mutant"]:
        if mutant[0] == name:
            print(search_mutant(model, told, *mutant).trace)
            return
    raise Wrong(f"no mutant {name}; there are: {' '.join(m[0] for m in told['mutant'])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", metavar="MUTANT")
    parser.add_argument("model", type=pathlib.Path)
    args = parser.parse_args()
    for program in ("spin", "gcc"):
        if shutil.which(program) is None:
            sys.exit(f"no {program} here: run tools/deps install build test")
    try:
        trace(args.model, args.trace) if args.trace else check(args.model)
    except Wrong as wrong:
        sys.exit(f"{args.model.stem}: {wrong}")


main()
