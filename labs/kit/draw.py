"""Drawing the labs that have a picture, as SVG files that do not change unless the figures do."""

from pathlib import Path
from typing import Optional, Sequence

from .errors import CannotRun
from .outcome import Outcome

COLOURS = ("#2f6f9f", "#d9822b", "#5a8f5a", "#9f4f6f", "#777777")
STYLE = {"svg.hashsalt": "rung", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
         "axes.spines.right": False, "figure.constrained_layout.use": True}


def check() -> None:
    """Raise CannotRun now rather than after everything has been measured."""
    try:
        import matplotlib
    except ImportError as error:
        raise CannotRun("pictures need matplotlib: `tools/deps install labs` installs it (Debian: python3-matplotlib)") from error
    matplotlib.use("svg")


def draw_all(outcomes: Sequence[Outcome], directory: Path) -> list[Path]:
    """Write DIRECTORY/NAME.svg for every lab that has a picture and was measured."""
    check()
    from matplotlib import cycler, rc_context
    from matplotlib.figure import Figure

    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for outcome in outcomes:
        path = directory / f"{outcome.lab.name}.svg"
        ready = drawn_already(outcome)
        if ready is not None:
            path.write_text(ready)
        elif outcome.lab.picture is not None and outcome.measured:
            with rc_context({**STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
                figure = Figure(figsize=(8, 4))
                outcome.lab.picture(figure, outcome.measured)
                figure.savefig(path, metadata={"Date": None, "Creator": "rung lab"})
        else:
            continue
        written.append(path)
    return written


def drawn_already(outcome: Outcome) -> Optional[str]:
    if outcome.lab.drawn is None:
        return None
    return next((outcome.lab.drawn(measured) for measured in outcome.measured.values()), None)
