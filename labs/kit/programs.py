"""Running the lab programs and reading what they print."""

import itertools
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, Optional

from .allocators import Allocator, clean_environment
from .errors import BUILD, ProgramFailed, Skipped
from .lab import Case

# No lab program takes more than a few seconds; one that is still running then hangs.
PROGRAM_TIMEOUT_SECONDS = 180
SKIP_STATUS = 77
# The kernel returns errors as small negative numbers; the tracer prints them as it sees them, without a sign.
LEAST_ERROR = 2**64 - 4096


@dataclass(frozen=True)
class Call:
    """One system call the tracer saw: `args` by name, `ret` as the kernel returned it."""

    name: str
    args: dict[str, int]
    ret: int

    @property
    def succeeded(self) -> bool:
        return self.ret < LEAST_ERROR

    def __str__(self) -> str:
        if self.name == "brk":
            return "brk(0)" if self.args["addr"] == 0 else "brk(...)"
        sizes = ", ".join(f"{v:,}" for k, v in self.args.items() if k.endswith("len"))
        return f"{self.name}({sizes})"


class Measurement(dict):
    """The key=value lines of one run; numbers are numbers, comma lists are lists.

    `phases` holds the traced system calls between one mark and the next; `xml` what malloc_info wrote, by the name
    the program gave it; `svg` a picture that the measurement itself drew."""

    def __init__(self) -> None:
        super().__init__()
        self.phases: dict[str, list[Call]] = {}
        self.xml: dict[str, ElementTree.Element] = {}
        self.svg: Optional[str] = None

    def calls(self, phase: str, *names: str) -> list[Call]:
        return [c for c in self.phases[phase] if not names or c.name in names]

    def heaps(self, name: str = "info") -> list[ElementTree.Element]:
        return self.xml[name].findall("heap")


def total(element: ElementTree.Element, tag: str, kind: str, what: str = "size") -> Optional[int]:
    """The number in <TAG type="KIND" WHAT="..."/> directly below an element of malloc_info's XML, None without one."""
    found = element.find(f"{tag}[@type='{kind}']")
    return None if found is None else int(found.get(what, "0"))


def parse_value(text: str) -> Any:
    if re.fullmatch(r"-?\d+(,-?\d+)+", text):
        return [int(v) for v in text.split(",")]
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"0x[0-9a-f]+", text):
        return int(text, 16)
    if re.fullmatch(r"-?\d+\.\d+", text):
        return float(text)
    return text


def parse_call(text: str) -> Call:
    name, *pairs = text.split()
    numbers = {k: int(v, 0) for k, v in (pair.split("=") for pair in pairs)}
    return Call(name, {k: v for k, v in numbers.items() if k != "ret"}, numbers["ret"])


def parse_xml(lines: Iterator[str], end: str) -> ElementTree.Element:
    """What malloc_info wrote, up to the line that ends it."""
    try:
        return ElementTree.fromstring("\n".join(itertools.takewhile(lambda line: line != end, lines)))
    except ElementTree.ParseError as error:
        raise ProgramFailed(f"malloc_info is not well-formed XML: {error}") from error


def parse(output: str) -> Measurement:
    measured = Measurement()
    phase: Optional[list[Call]] = None
    lines: Iterator[str] = iter(output.splitlines())
    for line in lines:
        key, separator, text = line.partition("=")
        if key.startswith("xml.") and text == "begin":
            measured.xml[key.removeprefix("xml.")] = parse_xml(lines, f"{key}=end")
        elif key == "mark":
            phase = measured.phases.setdefault(text, [])
        elif key == "call" and phase is not None:
            phase.append(parse_call(text))
        elif separator:
            measured[key] = parse_value(text)
    return measured


class Bench:
    """Where the programs are and how they are run."""

    def __init__(self, bindir: Path, librung: Optional[Path] = None, quick: bool = False,
                 pictures: bool = False) -> None:
        self.bindir = bindir
        self.librung = librung
        self.quick = quick
        self.pictures = pictures

    @property
    def build(self) -> Path:
        """The build directory the programs are in."""
        return next((d for d in (self.bindir, *self.bindir.resolve().parents) if (d / "toys").is_dir()),
                    self.bindir.parent)

    def toy(self, name: str) -> str:
        path = self.build / "toys" / name
        if not path.is_file():
            raise ProgramFailed(f"{path} does not exist: build it ({BUILD}), or say --bindir BUILD/labs")
        return str(path)

    def program(self, name: str) -> str:
        for directory in (self.bindir, self.bindir / "labs", self.bindir.parent / "labs"):
            if (directory / name).is_file():
                return str(directory / name)
        raise ProgramFailed(f"the lab program {name} is not in {self.bindir}: build it ({BUILD}), or say --bindir PATH")

    def command(self, case: Case, env: dict[str, str]) -> list[str]:
        args = case.quick if self.quick and case.quick is not None else case.args
        command = [self.program(case.program), *map(str, args)]
        if case.traced:
            return [self.program("trace"), *(f"{k}={v}" for k, v in env.items()), *command]
        return command

    def run(self, case: Case, allocator: Allocator) -> Measurement:
        env = {**allocator.env, **case.env}
        if case.tunables:
            env["GLIBC_TUNABLES"] = ":".join(f"glibc.malloc.{k}={v}" for k, v in case.tunables.items())
        command = self.command(case, env)
        outer = clean_environment() if case.traced else {**clean_environment(), **env}
        try:
            done = subprocess.run(command, env=outer, capture_output=True, timeout=PROGRAM_TIMEOUT_SECONDS,
                                  text=True, errors="replace", check=False)
        except subprocess.TimeoutExpired as expired:
            raise ProgramFailed(f"{case.program} ({case.label}) was still running after "
                                f"{PROGRAM_TIMEOUT_SECONDS} s") from expired
        if "cannot be preloaded" in done.stderr:  # the loader goes on without it, and glibc would be measured
            raise ProgramFailed(f"the loader refuses the allocator: {done.stderr.strip()}")
        measured = parse(done.stdout)
        if done.returncode == SKIP_STATUS:
            raise Skipped(measured.get("skip", "the program gave no reason"))
        if done.returncode != 0:
            said = measured.get("error") or done.stderr.strip() or "it printed nothing"
            ended = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
            raise ProgramFailed(f"{case.program} ({case.label}) ended with {ended}: {said}")
        return measured
