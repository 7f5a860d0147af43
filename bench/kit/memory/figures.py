"""From samples to what is shown: medians over the rounds, verdicts, and the best of the others."""

from statistics import median

from . import scenarios

GENERAL = ("peak", "mean", "resident_time", "virtual", "end", "duration", "cpu", "system", "faults", "calls")


def middle(values):
    """None unless every round has a figure."""
    return None if not values or None in values else median(values)


def missed_of(figure, values):
    """In how many rounds the limit was missed: a promise is kept in every round or not at all."""
    return sum(not figure.keeps(value) for value in values if value is not None)


def cell(figure, values, judged):
    found = {"value": middle(values), "rounds": len(values)}
    if judged and figure.limit is not None and found["value"] is not None:
        found["missed"] = missed_of(figure, values)
    return found


def best_of(figure, cells, names):
    """The one of `names` with the best value; None where nobody has one."""
    known = [name for name in names if cells[name]["value"] is not None]
    choose = min if figure.better == scenarios.LESS else max
    return choose(known, key=lambda name: cells[name]["value"], default=None)


def summarise(document):
    """Of each scenario: its own figures, a list of dictionaries, and the general ones of each allocator. What is owed
    is owed for the whole work and for Rung: nobody else has promised anything."""
    kinds = {name: one["kind"] for name, one in document["contenders"].items()}
    rungs = [name for name in kinds if kinds[name] == "rung"]
    others = [name for name in kinds if kinds[name] != "rung"]
    found = {}
    for scenario, by_name in document["samples"].items():
        rows = []
        for figure in scenarios.ALL[scenario].figures:
            cells = {name: cell(figure, [sample["scenario"][figure.label] for sample in samples], document["scale"] == 1 and kinds[name] == "rung")
                     for name, samples in by_name.items()}
            best = best_of(figure, cells, others)
            ratios = {name: ratio(cells[name]["value"], cells[best]["value"]) for name in rungs if best}
            rows.append({"label": figure.label, "unit": figure.unit, "owed": figure.owed(), "limit": figure.limit, "cells": cells, "best": best, "ratios": ratios})
        general = {name: {key: middle([sample[key] for sample in samples]) for key in GENERAL} for name, samples in by_name.items()}
        found[scenario] = {"figures": rows, "general": general}
    return found


def ratio(own, other):
    """None where it says nothing: nothing to divide by, or less than nothing."""
    return own / other if own is not None and other > 0 and own >= 0 else None


def missed(summary):
    """(scenario, allocator, figure, value, what is owed) of each promise that was not kept."""
    return [(scenario, name, row["label"], one["value"], row["owed"])
            for scenario, found in summary.items() for row in found["figures"] for name, one in row["cells"].items() if one.get("missed")]
