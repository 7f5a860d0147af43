"""What is made of a document: each kind of measurement has a summary, tables, pictures and a CSV file of its own."""

from collections.abc import Callable
from dataclasses import dataclass, field

from . import ablation, export, figures, plots, tables
from .memory import export as memory_export, figures as memory_figures, plots as memory_plots, tables as memory_tables


@dataclass(frozen=True)
class View:
    title: str
    note: Callable  # of a document: how its figures came about
    summarise: Callable
    tables: Callable
    pictures: Callable
    write_csv: Callable
    described: dict = field(default_factory=dict)  # name -> what it is and how it is set


def ratios(document):
    return f"ratios are medians of the ratios to {document['base']} within a round; below 1 is better."


def readings(document):
    return "memory is read from outside, 50 times a second; dots are the moments at which it is owed, the curves are of the first round."


OF = {
    "comparison": View("Allocators compared", ratios, figures.summarise, tables.all_of, plots.wanted, export.write_csv),
    "ablation": View("What each mechanism of Rung is worth", ratios, figures.summarise, tables.all_of, plots.wanted, export.write_csv,
                     ablation.MECHANISMS),
    "memory": View("Memory over time", readings, memory_figures.summarise, memory_tables.all_of, memory_plots.wanted, memory_export.write_csv),
}


def of(document):
    return OF[document["kind"]]
