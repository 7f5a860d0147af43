"""The summary as tables."""

from ..tables import Table, number

UNITS = {"MiB": "MiB", "%": "%", "/s": "a second", "": ""}


def amount(value, unit):
    if value is None:
        return "-"
    digits = 0 if abs(value) >= 10000 or unit == "/s" else 1 if unit in ("MiB", "%") else 2
    return f"{value:,.{digits}f}"


def verdict(cell):
    """Nothing where nothing is owed."""
    if "missed" not in cell:
        return ""
    if not cell["missed"]:
        return " met"
    return " MISSED" if cell["missed"] == cell["rounds"] else f" MISSED in {cell['missed']} of {cell['rounds']}"


def owed(document, summary):
    """A line a figure: what is owed, what everybody has, and Rung beside the best of the others."""
    names = list(document["contenders"])
    rungs = [name for name in names if document["contenders"][name]["kind"] == "rung"]
    others = len(rungs) < len(names)
    rows = []
    for scenario, found in summary.items():
        for at, row in enumerate(found["figures"]):
            cells = [amount(row["cells"][name]["value"], row["unit"]) + verdict(row["cells"][name]) for name in names]
            best = [row["best"] or "", *(number(row["ratios"].get(name)) for name in rungs)] if others and rungs else []
            rows.append(["" if at else scenario, f"{row['label']}{', ' + UNITS[row['unit']] if UNITS[row['unit']] else ''}", row["owed"], *cells, *best])
    rounds = document["rounds"]
    note = "one round" if rounds == 1 else f"medians of {rounds} rounds; met is what holds in every round"
    if document["scale"] != 1:
        note += f"; with {document['scale']:g} of the work nothing is owed"
    heads = ["scenario", "", "owed", *names, *(["best other", *(f"{name} / best" for name in rungs)] if others and rungs else [])]
    return Table("What is owed, and who keeps it", note, heads, rows)


def general(document, summary):
    rows = []
    for scenario, found in summary.items():
        for at, (name, one) in enumerate(found["general"].items()):
            memory = [number(one[key], 1) for key in ("peak", "mean", "resident_time", "virtual", "end")]
            time = [number(one[key], digits) for key, digits in (("duration", 1), ("cpu", 2), ("system", 2))]
            rows.append(["" if at else scenario, name, *memory, *time, f"{one['faults']:,.0f}", "-" if one["calls"] is None else f"{one['calls']:,.0f}"])
    return Table("Memory and time", "MiB and seconds, from start to end; a second under 1 MiB is 1 MiB s; system calls for memory are counted by Rung alone",
                 ["scenario", "", "peak", "mean", "MiB s", "address space", "end", "time", "processor", "of that system", "page faults", "calls"], rows)


def all_of(document, summary):
    return [owed(document, summary), general(document, summary)]
