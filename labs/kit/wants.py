"""What a claim wants of a measured value. A plain value is wanted exactly; the classes here allow more."""

import itertools
from dataclasses import dataclass
from typing import Any


class Want:
    def accepts(self, value: Any) -> bool:
        raise NotImplementedError


@dataclass(frozen=True)
class About(Want):
    """Within `within` of `value`, given as a share of it, or within `plus_minus`, whichever allows more."""

    value: float
    within: float = 0.0
    plus_minus: float = 0

    def accepts(self, value: Any) -> bool:
        return abs(value - self.value) <= max(abs(self.value) * self.within, self.plus_minus)

    def __str__(self) -> str:
        margins = []
        if self.within:
            margins.append(f"{self.within:.0%}")
        if self.plus_minus:
            margins.append(show(self.plus_minus))
        return f"{show(self.value)} ± {' or '.join(margins)}"


@dataclass(frozen=True)
class AtMost(Want):
    value: float

    def accepts(self, value: Any) -> bool:
        return value <= self.value

    def __str__(self) -> str:
        return f"at most {show(self.value)}"


@dataclass(frozen=True)
class AtLeast(Want):
    value: float

    def accepts(self, value: Any) -> bool:
        return value >= self.value

    def __str__(self) -> str:
        return f"at least {show(self.value)}"


@dataclass(frozen=True)
class Between(Want):
    low: float
    high: float

    def accepts(self, value: Any) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{show(self.low)} to {show(self.high)}"


class Anything(Want):
    def accepts(self, value: Any) -> bool:
        return True

    def __str__(self) -> str:
        return "anything"


def accepts(want: Any, value: Any) -> bool:
    return want.accepts(value) if isinstance(want, Want) else value == want


def show(value: Any) -> str:
    """A value as a reader wants it: yes and no, thousands apart, few digits, long lists cut."""
    if value is None:
        return "not measured"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    if isinstance(value, (list, tuple)):
        return " ".join(f"{count} × {text}" if count > 3 else " ".join([text] * count)
                        for text, count in runs([show(v) for v in value])) or "none"
    return str(value)


def runs(texts: list[str]) -> list[tuple[str, int]]:
    """Equal neighbours counted together."""
    return [(text, len(list(group))) for text, group in itertools.groupby(texts)]


def shortened(numbers: list[int]) -> str:
    """A list of whole numbers as runs: 15..0 16..39."""
    runs, start = [], 0
    for i in range(1, len(numbers) + 1):
        step = numbers[start + 1] - numbers[start] if start + 1 < len(numbers) else 0
        if i == len(numbers) or numbers[i] - numbers[i - 1] != step or abs(step) != 1:
            runs.append(str(numbers[start]) if i - 1 == start else f"{numbers[start]}..{numbers[i - 1]}")
            start = i
    return " ".join(runs)
