"""A lab: a question, the programs that answer it, and the claims their measurements must bear out."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Callable, Mapping, Optional, Sequence

from .wants import accepts

# What was measured, by case label; see programs.Measurement.
Measured = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """One run of one program. `tunables` are glibc.malloc.NAME; `quick` replaces `args` under --quick."""

    label: str
    program: str
    args: Sequence[Any] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    tunables: Mapping[str, Any] = field(default_factory=dict)
    traced: bool = False
    quick: Optional[Sequence[Any]] = None


@dataclass(frozen=True)
class Figure:
    """A number for the reader, not judged: a time, an address, a size that depends on the machine."""

    text: str
    of: Callable[[Measured], Any]
    reference: str = ""  # what glibc 2.43 gave


@dataclass(frozen=True)
class Claim:
    """A statement about structure that is true or false of an allocator, whatever the machine."""

    text: str
    of: Callable[[Measured], Any]
    wanted: Any
    older: Any = None  # what a glibc before 2.43 answers instead
    by_design: Mapping[str, str] = field(default_factory=dict)  # a profile of Rung: why it answers differently
    reference: str = ""  # what glibc 2.43 gave, where `wanted` leaves room


@dataclass(frozen=True)
class Lab:
    name: str
    question: str
    text: str  # what is done, and why that answers the question
    cases: Sequence[Case] = ()
    figures: Sequence[Figure] = ()
    claims: Sequence[Claim] = ()
    reading: str = ""  # what to take from it
    picture: Optional[Callable[..., None]] = None  # draws onto a matplotlib figure, given {allocator: measured}
    drawn: Optional[Callable[[Measured], Optional[str]]] = None  # or a picture that was drawn while measuring, as SVG
    depends_on_allocator: bool = True  # otherwise it is about the kernel, or brings its own allocator
    measure: Optional[Callable[..., Measured]] = None  # instead of running the cases one by one
    pages_of_4k: bool = False  # what is claimed counts pages of this size
    timed: bool = False  # a claim compares times: other work at the same moment would be measured too
    sources: Sequence[str] = ()  # more files a reader may want, relative to the repository


def paragraph(text: str) -> str:
    """A definition's text without the line breaks and indentation it has in the source."""
    return " ".join(text.split())


class Verdict(Enum):
    HOLDS = "holds"
    FAILS = "FAILS"
    OLDER = "differs: older version"
    DESIGN = "differs: by design"
    OTHER = "differs: another design"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Judgement:
    claim: Claim
    value: Any
    verdict: Verdict
    reason: str = ""


def value_of(item: Any, measured: Measured) -> Any:
    """The value of a claim or figure, None where the allocator has nothing to measure."""
    try:
        return item.of(measured)
    except (LookupError, TypeError, ValueError, ZeroDivisionError):
        return None  # a key, an arena or a list the allocator did not give


def judge(claim: Claim, allocator: Any, measured: Measured) -> Judgement:
    value = value_of(claim, measured)
    by_design = claim.by_design.get(allocator.profile) if allocator.kind == "rung" else None
    if value is None and by_design is None:
        # Rung offers everything the labs ask for, so a value it does not give is one it has lost.
        return Judgement(claim, None, Verdict.FAILS if allocator.kind == "rung" else Verdict.NOT_MEASURED)
    if value is not None and accepts(claim.wanted, value):
        return Judgement(claim, value, Verdict.HOLDS)
    if allocator.kind == "glibc" and claim.older is not None and accepts(claim.older, value):
        return Judgement(claim, value, Verdict.OLDER)
    if by_design is not None:
        return Judgement(claim, value, Verdict.DESIGN, by_design)
    if allocator.kind == "other":
        return Judgement(claim, value, Verdict.OTHER)
    return Judgement(claim, value, Verdict.FAILS)
