"""A lab's outcome as text for a terminal."""

import itertools
import shutil
import textwrap
from typing import Any, Sequence

from .lab import Claim, Lab, Verdict, paragraph, value_of
from .outcome import Outcome, Result
from .wants import show

NARROWEST_TEXT = 28
WIDEST_CELL = 44
REFERENCE = "glibc 2.43"


def table(rows: Sequence[Sequence[str]], width: int, widest_cell: int = WIDEST_CELL) -> str:
    """Columns as wide as they need, up to a limit; the first one takes what is left. Longer cells wrap."""
    others = [min(widest_cell, max(len(row[i]) for row in rows)) for i in range(1, len(rows[0]))]
    first = max(NARROWEST_TEXT, min(max(len(row[0]) for row in rows), width - sum(others) - 2 * len(others) - 2))
    lines = []
    for row in rows:
        cells = [textwrap.wrap(row[0], first, subsequent_indent="  ")]
        cells += [textwrap.wrap(cell, widest) for cell, widest in zip(row[1:], others)]
        for line in itertools.zip_longest(*cells, fillvalue=""):
            lines.append("".join(f"  {text:<{wide}}" for text, wide in zip(line, (first, *others))).rstrip())
    return "\n".join(lines)


def verdict_cell(result: Result, index: int) -> str:
    judgement = result.judgements[index]
    if judgement.value is None:
        return judgement.verdict.value
    return f"{show(judgement.value)}  {judgement.verdict.value}"


def wanted_cell(claim: Claim) -> str:
    return show(claim.wanted) + (f" ({claim.reference})" if claim.reference else "")


def claim_rows(outcome: Outcome) -> list[list[str]]:
    results = [r for r in outcome.results if r.judgements]
    rows = [["claim", "wanted", *(r.allocator.name for r in results)]]
    for i, claim in enumerate(outcome.lab.claims):
        rows.append([claim.text, wanted_cell(claim), *(verdict_cell(r, i) for r in results)])
    return rows


def figure_rows(outcome: Outcome) -> list[list[str]]:
    results = [r for r in outcome.results if r.measured]
    rows = [["measured", REFERENCE, *(r.allocator.name for r in results)]]
    for item in outcome.lab.figures:
        rows.append([item.text, item.reference, *(show(value_of(item, r.measured)) for r in results)])
    return rows if any(item.reference for item in outcome.lab.figures) else [[row[0], *row[2:]] for row in rows]


def tally(result: Result) -> str:
    """How many claims hold under one allocator, and why the others do not."""
    if result.skipped:
        return f"{result.allocator.name} skipped"
    if result.error:
        return f"{result.allocator.name} broken"
    verdicts = [j.verdict for j in result.judgements]
    others = [f"{verdicts.count(v)} {v.value}" for v in Verdict if v is not Verdict.HOLDS and v in verdicts]
    held = f"{result.allocator.name} {verdicts.count(Verdict.HOLDS)} of {len(verdicts)}"
    return held + (f" ({', '.join(others)})" if others else "")


def summary(outcome: Outcome) -> str:
    return "; ".join(tally(result) for result in outcome.results)


def text(outcome: Outcome) -> str:
    width = shutil.get_terminal_size((110, 40)).columns
    lab = outcome.lab
    parts = [f"{lab.name}: {lab.question}", textwrap.fill(paragraph(lab.text), min(width, 100), initial_indent="  ",
                                                           subsequent_indent="  ")]
    if lab.figures and outcome.measured:
        parts.append(table(figure_rows(outcome), width))
    if any(r.judgements for r in outcome.results):
        parts.append(table(claim_rows(outcome), width))
    for result in outcome.results:
        if result.skipped:
            parts.append(f"  {result.allocator.name}: skipped: {result.skipped}")
        if result.error:
            parts.append(f"  {result.allocator.name}: {result.error}")
        reasons = dict.fromkeys(j.reason for j in result.judgements if j.reason)
        parts.extend(textwrap.fill(f"{result.allocator.name} by design: {reason}", min(width, 100),
                                   initial_indent="  ", subsequent_indent="    ") for reason in reasons)
    return "\n\n".join(parts) + "\n"


def listing(labs: Sequence[Lab]) -> str:
    width = shutil.get_terminal_size((110, 40)).columns
    return table([[lab.name, lab.question] for lab in labs], width, widest_cell=width)


def as_json(outcome: Outcome) -> dict[str, Any]:
    allocators = {}
    for r in outcome.results:
        allocators[r.allocator.name] = {
            "skipped": r.skipped or None,
            "error": r.error or None,
            "figures": {f.text: value_of(f, r.measured) for f in outcome.lab.figures} if r.measured else {},
            "claims": [{"claim": j.claim.text, "wanted": show(j.claim.wanted), "measured": j.value,
                        "verdict": j.verdict.value, "reason": j.reason or None} for j in r.judgements],
            "raw": {label: dict(values) for label, values in r.measured.items()},
        }
    return {"lab": outcome.lab.name, "question": outcome.lab.question, "failed": outcome.failed,
            "allocators": allocators}
