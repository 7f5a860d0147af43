"""The pictures of the page, as SVG that stands in it."""

import io
import re

from .errors import Failure
from .figures import METRICS, PERCENTILES

COLOURS = ("#777777", "#d9822b", "#5a8f5a", "#9f4f6f", "#8fb4d9", "#1f5f9f", "#b8a13a", "#3aa0a0", "#6a5acd", "#a0522d")
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "rung", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False,
         "figure.constrained_layout.use": True}


def load():
    """Now rather than after everything has been measured."""
    try:
        import matplotlib
    except ImportError as error:
        raise Failure("pictures need matplotlib: `tools/deps install bench` installs it (Debian: python3-matplotlib)") from error
    matplotlib.use("svg")


def svg(figure, name):
    """The picture as an element; its ids are its own, as several stand in one page."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "rung bench"})
    text = out.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r'\bid="', f'id="{name}-', text)
    return re.sub(r'((?:xlink:)?href="#|url\(#)', rf"\g<1>{name}-", text)


def new(width, height):
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def palette(document):
    return {name: COLOURS[at % len(COLOURS)] for at, name in enumerate(document["contenders"])}


def geometric_means(document, summary):
    """A panel a metric, a bar a contender."""
    means, colours = summary["means"], palette(document)
    metrics = [metric for metric in METRICS if any(metric in found for found in means.values())]
    figure = new(10, 0.7 + 0.28 * len(means))
    axes = figure.subplots(1, len(metrics), squeeze=False)[0]
    for at, (panel, metric) in enumerate(zip(axes, metrics)):
        shown = [name for name in means if metric in means[name]][::-1]
        values = [means[name][metric] for name in shown]
        bars = panel.barh(shown, values, color=[colours[name] for name in shown])
        panel.bar_label(bars, labels=[f" {value:.2f}" for value in values])
        panel.axvline(1, color="#444444", linewidth=0.8)
        panel.set_xlim(0, max(values) * 1.2)
        panel.set_title(METRICS[metric], fontsize=9)
        if at:
            panel.set_yticklabels([])
    return figure


def time_and_memory(document, summary):
    """A point a contender: the lower and the further left, the better."""
    means, colours = summary["means"], palette(document)
    figure = new(7, 5)
    panel = figure.subplots()
    for name, found in means.items():
        if "cpu" in found and "peak" in found:
            panel.scatter(found["cpu"], found["peak"], color=colours[name], s=60, zorder=3)
            panel.annotate(name, (found["cpu"], found["peak"]), xytext=(6, 5), textcoords="offset points")
    panel.axvline(1, color="#bbbbbb", linewidth=0.8)
    panel.axhline(1, color="#bbbbbb", linewidth=0.8)
    panel.margins(0.2)
    panel.set_xlabel(f"processor time, {document['base']} = 1")
    panel.set_ylabel(f"peak resident memory, {document['base']} = 1")
    return figure


def by_workload(document, summary, metric):
    """A panel a workload, a bar a contender."""
    colours, base = palette(document), document["base"]
    names = [name for name in document["contenders"] if name != base][::-1]
    rows = {workload: row for workload, row in summary["rows"].items() if any(row[name].get(metric, {}).get("ratio") for name in names)}
    across = 4
    down = -(-len(rows) // across)
    figure = new(11, down * (0.55 + 0.17 * len(names)))
    panels = figure.subplots(down, across, squeeze=False)
    for at, panel in enumerate(panels.flat):
        panel.set_visible(at < len(rows))
    for panel, (workload, row) in zip(panels.flat, rows.items()):
        values = [row[name].get(metric, {}).get("ratio") or 0 for name in names]
        # One that is many times the base would make all others invisible; its label says how long it would be.
        end = min(max([1.25, *values]), 3)
        bars = panel.barh(names, [min(value, end) for value in values], color=[colours[name] for name in names])
        panel.bar_label(bars, labels=[f" {value:.2f}" if value else "" for value in values], fontsize=7)
        panel.axvline(1, color="#444444", linewidth=0.8)
        panel.set_xlim(0, end * 1.25)
        panel.set_title(workload, fontsize=9, loc="left")
        panel.tick_params(labelsize=7)
        if panel not in panels[:, 0]:
            panel.set_yticklabels([])
    return figure


def latency(document, summary):
    colours = palette(document)
    figure = new(11, 4)
    panels = figure.subplots(1, len(summary["latency"]), squeeze=False, sharey=True)[0]
    for panel, (workload, by_name) in zip(panels, summary["latency"].items()):
        for name, found in by_name.items():
            panel.plot(PERCENTILES, [found[one] for one in PERCENTILES], marker="o", markersize=4, color=colours[name], label=name)
        panel.set_yscale("log")
        panel.set_title(workload, fontsize=9)
        panel.set_ylabel("ns")
    panels[-1].legend(fontsize=8)
    return figure


def scaling(document, summary):
    colours = palette(document)
    figure = new(11, 4)
    keys = {"throughput": "millions of operations a second", "throughput_cpu": "millions of operations a second of processor time"}
    for panel, (key, title) in zip(figure.subplots(1, 2), keys.items()):
        for name, found in summary["scaling"].items():
            threads = sorted(found)
            panel.plot([str(count) for count in threads], [found[count][key] for count in threads], marker="o", markersize=4, color=colours[name], label=name)
        panel.set_ylim(bottom=0)
        panel.set_xlabel("threads")
        panel.set_title(title, fontsize=9)
    panel.legend(fontsize=8)
    return figure


def wanted(document, summary):
    """(heading, drawing function, further arguments) of each picture there are figures for."""
    found = []
    if summary["means"]:
        found += [("Geometric means", geometric_means, ()), ("Time against memory", time_and_memory, ())]
    found += [(f"Each workload: {METRICS[metric]}", by_workload, (metric,)) for metric in METRICS
              if any("ratio" in cells.get(metric, {}) for row in summary["rows"].values() for cells in row.values())]
    if summary["latency"]:
        found.append(("Time of a single operation", latency, ()))
    if summary["scaling"]:
        found.append(("Throughput by threads", scaling, ()))
    return found


def render(pictures, document, summary, prefix):
    """(heading, svg) of each of `wanted`."""
    from matplotlib import rc_context

    with rc_context(STYLE):
        return [(title, svg(draw(document, summary, *more), f"{prefix}{at}")) for at, (title, draw, more) in enumerate(pictures)]
