#!/usr/bin/env python3
"""Keeps the cost of a hit in the thread's cache.

  hot_path.py count LIBRARY HOT_LOOP MACHINE COMPILER   count instructions, compare with hot_path.txt
  hot_path.py update LIBRARY HOT_LOOP MACHINE COMPILER  write what is counted into hot_path.txt
  hot_path.py static LIBRARY COMPILER                   malloc and free neither call, lock nor use the stack

Exits 0 when all is as it should be, 1 when not, 77 when it cannot be told here (the reason is printed).
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

GOLDEN = pathlib.Path(__file__).resolve().parent / "hot_path.txt"
CASES = {
    "malloc+free of 16 bytes, chunks": ("16", "profile=glibc"),
    "malloc+free of 1000 bytes, chunks": ("1000", "profile=glibc"),
    "malloc+free of 16 bytes, runs": ("16", "profile=default"),
    "malloc+free of 1000 bytes, runs": ("1000", "profile=default"),
}
FEW, MANY = 10000, 20000  # of as many digits, so that reading them costs the same


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def instructions(library, program, rounds, size, options):
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "GLIBC_TUNABLES")}
    environment["RUNG_OPTIONS"] = options
    environment["LD_PRELOAD"] = library
    ran = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, str(rounds), size],
        env=environment, capture_output=True, text=True, timeout=300)
    found = re.search(r"Collected : (\d+)", ran.stderr)
    if ran.returncode != 0 or not found:
        sys.exit(f"valgrind failed ({ran.returncode}):\n{ran.stderr}")
    return int(found.group(1))


def count(library, program, size, options):
    more = instructions(library, program, MANY, size, options) - instructions(library, program, FEW, size, options)
    rounds = MANY - FEW
    a_round = round(more / rounds)
    # A miss now and then would be thousands of instructions; the start differs by a few, as it looks at the clock.
    if abs(more - a_round * rounds) > rounds // 100:
        sys.exit(f"{more} instructions for {rounds} rounds: not the same in every round, so not a hit in each")
    return a_round


def read_golden():
    golden = {}
    for line in GOLDEN.read_text().splitlines():
        if line and not line.startswith("#"):
            machine, compiler, number, case = line.split(maxsplit=3)
            golden[machine, compiler, case] = int(number)
    return golden


def write_golden(golden):
    head = [line for line in GOLDEN.read_text().splitlines() if line.startswith("#")]
    rows = [f"{m} {c} {n:3} {case}" for (m, c, case), n in sorted(golden.items())]
    GOLDEN.write_text("\n".join(head + rows) + "\n")


def measure(library, program, machine, compiler, update):
    if not shutil.which("valgrind"):
        skip("valgrind is not installed (tools/deps install test)")
    golden = read_golden()
    if not update and not any(key[:2] == (machine, compiler) for key in golden):
        skip(f"{GOLDEN.name} has no figures for {compiler} on {machine}; to add them: cmake --build DIR --target golden_update")
    worse = 0
    for case, (size, options) in CASES.items():
        now = count(library, program, size, options)
        before = golden.get((machine, compiler, case))
        print(f"{case}: {now} instructions ({'none' if before is None else before} recorded)")
        if before is not None and now < before and not update:
            print("  that is fewer: record it, so that it stays so (cmake --build DIR --target golden_update)")
        if before is None or now > before:
            worse += 1
        golden[machine, compiler, case] = now
    if update:
        write_golden(golden)
    elif worse:
        print(f"{worse} of {len(CASES)} are more than {GOLDEN.name} allows.  Make the path shorter again; if the price is"
              "\nworth it, say so in the commit, together with the new figures:\n"
              "  cmake --build DIR --target golden_update")
        sys.exit(1)


FORBIDDEN = [
    (re.compile(r"^call"), "calls"),
    (re.compile(r"^lock\b"), "has a lock prefix"),
    (re.compile(r"^xchg\s.*\("), "exchanges with memory, which locks"),
    (re.compile(r"^(push|pop|enter|leave)"), "uses the stack"),
    (re.compile(r"^(sub|add)\s.*%rsp"), "uses the stack"),
    (re.compile(r"%fs:0x28"), "has a stack protector"),
]


def static(library, compiler):
    if not compiler.startswith("gcc-"):
        skip(f"{compiler} makes no separate function of the branch that ends the process, and so saves a register around"
             " its call")
    if not shutil.which("objdump"):
        skip("objdump is not installed (tools/deps install test)")
    symbols = subprocess.run(["nm", "-D", "-S", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    bad = 0
    for function in ("malloc", "free"):
        found = re.search(rf"^([0-9a-f]+) ([0-9a-f]+) T {function}$", symbols, re.M)
        if not found:
            sys.exit(f"{library} exports no {function}")
        start, size = int(found.group(1), 16), int(found.group(2), 16)
        text = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", f"--start-address={start}", f"--stop-address={start + size}", library],
            capture_output=True, text=True, check=True).stdout
        lines = re.findall(r"^\s*([0-9a-f]+):\t(.+)$", text, re.M)
        if len(lines) < 10 or not any(i.startswith("ret") for _, i in lines):
            sys.exit(f"cannot read the code of {function}:\n{text}")
        for address, instruction in lines:
            for pattern, what in FORBIDDEN:
                if pattern.search(instruction):
                    print(f"{function} {what}: {address}: {instruction}")
                    bad += 1
        print(f"{function}: {len(lines)} instructions, of all paths")
    sys.exit(1 if bad else 0)


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 5 and arguments[0] in ("count", "update"):
        measure(*arguments[1:], update=arguments[0] == "update")
    elif len(arguments) == 3 and arguments[0] == "static":
        static(*arguments[1:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
