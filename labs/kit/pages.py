"""The labs as pages to read: one a lab, with the figures of one run, and an index that leads through them."""

import os
import re
from pathlib import Path
from typing import Mapping, Sequence

from . import draw
from .errors import CannotRun
from .lab import Case, Lab, Verdict, paragraph
from .outcome import Outcome, Result, machine_line
from .terminal import claim_rows, figure_rows, summary

GENERATED = "<!-- Written by `rung lab --all --docs docs/labs` from the definitions in labs/; do not edit. -->"
GUIDE = Path("labs", "guide.md")
PLACEHOLDER = re.compile(r"\{\{([a-z-]+)\}\}")


def guide_names(guide: str) -> list[str]:
    return PLACEHOLDER.findall(guide)


def check_guide(guide: str, labs: Sequence[Lab]) -> None:
    """The guide leads to every lab once, in the labs' own order, and to nothing else."""
    named, known = guide_names(guide), [lab.name for lab in labs]
    problems = [f"{name} is not a lab" for name in named if name not in known]
    problems += [f"{name} is not in it" for name in known if name not in named]
    problems += [f"{name} is in it twice" for name in sorted(set(named)) if named.count(name) > 1]
    if not problems and named != known:
        first = next(name for name, expected in zip(named, known) if name != expected)
        problems = [f"its order is not that of the labs, from {first} on"]
    if problems:
        raise CannotRun(f"{GUIDE}: " + "; ".join(problems))


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") or " " for cell in row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def command_line(case: Case) -> str:
    """How a reader starts the same program by hand, from the build directory."""
    settings = [f"{k}={v}" for k, v in case.env.items()]
    if case.tunables:
        settings.append("GLIBC_TUNABLES=" + ":".join(f"glibc.malloc.{k}={v}" for k, v in case.tunables.items()))
    words = [f"labs/{case.program}", *map(str, case.args)]
    if case.traced:
        words = ["labs/trace", *settings, *words]
    else:
        words = [*settings, *words]
    return " ".join(words)


def measured_section(lab: Lab, root: str) -> str:
    """The programs, as links, and the commands."""
    parts = []
    if lab.measure is None or not lab.sources:
        programs = sorted({case.program for case in lab.cases} | ({"trace"} if any(c.traced for c in lab.cases) else set()))
        links = ", ".join(f"[{name}.c]({root}/labs/programs/{name}.c)" for name in programs)
        commands = "\n".join(f"    {command_line(case)}" for case in lab.cases)
        parts.append(f"{links}. Each case by hand, from the build directory:\n\n{commands}")
    if lab.sources:
        parts.append("Sources: " + ", ".join(f"[{source}]({root}/{source})" for source in lab.sources))
    others = f"; under other allocators: `rung lab {lab.name} --under rung --under glibc --under PATH.so`"
    parts.append(f"All of it: `rung lab {lab.name}`{others if lab.depends_on_allocator else ''}.")
    return "\n\n".join(parts)


def notes(results: Sequence[Result]) -> list[str]:
    """Why something is missing, or differs on purpose."""
    lines = []
    for result in results:
        if result.skipped:
            lines.append(f"{result.allocator.name}: not run: {result.skipped}.")
        if result.error:
            lines.append(f"{result.allocator.name}: {result.error}.")
        claims: dict[str, list[str]] = {}
        for judgement in result.judgements:
            if judgement.verdict is Verdict.DESIGN:
                claims.setdefault(judgement.reason, []).append(f"“{judgement.claim.text}”")
        for reason, texts in claims.items():
            more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
            lines.append(f"**{result.allocator.name} differs on purpose** in {texts[0]}{more}: {reason}.")
    return lines


def page(outcome: Outcome, before: Lab | None, after: Lab | None, root: str, picture: bool) -> str:
    lab = outcome.lab
    parts = [GENERATED, f"# {lab.question}", paragraph(lab.text), "## How it is measured",
             measured_section(lab, root), "## What came out"]
    if picture:
        parts.append(f"![{lab.question}](pictures/{lab.name}.svg)")
    if lab.figures and outcome.measured:
        parts.append(markdown_table(figure_rows(outcome)))
    if any(r.judgements for r in outcome.results):
        parts.append(markdown_table(claim_rows(outcome)))
    parts.extend(notes(outcome.results))
    if lab.reading:
        parts += ["## What to take from it", paragraph(lab.reading)]
    links = [f"[before: {before.question}]({before.name}.md)"] if before is not None else []
    links.append("[all labs](README.md)")
    links += [f"[next: {after.question}]({after.name}.md)"] if after is not None else []
    parts += ["---", " · ".join(links), f"*Figures of one run on {machine_line()}.*"]
    return "\n\n".join(parts) + "\n"


def index(guide: str, outcomes: Mapping[str, Outcome]) -> str:
    def link(match: re.Match) -> str:
        outcome = outcomes[match.group(1)]
        return f"[{outcome.lab.question}]({outcome.lab.name}.md) — {summary(outcome)}"

    return GENERATED + "\n\n" + PLACEHOLDER.sub(link, guide) + f"\n*Figures of one run on {machine_line()}.*\n"


def write(outcomes: Sequence[Outcome], labs: Sequence[Lab], directory: Path, repository: Path) -> list[Path]:
    """Write the index, every lab's page and the pictures; pages of labs that are gone are removed."""
    guide = (repository / GUIDE).read_text()
    check_guide(guide, labs)
    directory.mkdir(parents=True, exist_ok=True)
    drawn = {path.stem for path in draw.draw_all(outcomes, directory / "pictures")}
    root = os.path.relpath(repository, directory.resolve())
    order = [outcome.lab for outcome in outcomes]
    written = []
    for place, outcome in enumerate(outcomes):
        before = order[place - 1] if place > 0 else None
        after = order[place + 1] if place + 1 < len(order) else None
        path = directory / f"{outcome.lab.name}.md"
        path.write_text(page(outcome, before, after, root, outcome.lab.name in drawn))
        written.append(path)
    readme = directory / "README.md"
    readme.write_text(index(guide, {outcome.lab.name: outcome for outcome in outcomes}))
    written.append(readme)
    for path in directory.glob("*.md"):
        if path not in written and path.read_text().startswith(GENERATED):
            path.unlink()
    return written
