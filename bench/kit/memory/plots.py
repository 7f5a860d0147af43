"""Memory over time: a picture a scenario, with all allocators."""

from ..plots import new, palette
from . import scenarios


def top(curves):
    """Where the axis ends: one allocator that takes many times what all others take would make them invisible."""
    peaks = sorted(max(value for _, value in curve) for curve in curves if curve)
    return peaks[-1] * 1.05 if len(peaks) < 2 or peaks[-1] < 4 * peaks[-2] else peaks[-2] * 1.4


def draw_curves(panel, samples, what, colours):
    curves = {name: taken[0]["curves"][what] for name, taken in samples.items()}
    end = top(curves.values())
    for name, curve in curves.items():
        highest = max(value for _, value in curve)
        label = f"{name} (to {highest:,.0f} MiB)" if highest > end else name
        panel.plot([time for time, _ in curve], [value for _, value in curve], color=colours[name], linewidth=1.2, label=label, drawstyle="steps-post")
    panel.set_ylim(0, end)
    panel.set_xlim(left=0)
    panel.set_xlabel("seconds")


def over_time(document, summary, name):
    scenario, samples, colours = scenarios.ALL[name], document["samples"][name], palette(document)
    figure = new(11, 4.2)
    panels = figure.subplots(1, 2 if scenario.virtual else 1, squeeze=False)[0]
    panel = panels[0]
    draw_curves(panel, samples, "resident", colours)
    panel.set_ylabel("resident MiB")
    for name, taken in samples.items():
        moments = taken[0]["curves"]["moments"]
        panel.scatter([time for time, _ in moments], [value for _, value in moments], color=colours[name], s=18, zorder=3, clip_on=True)
    live = min((taken[0]["curves"]["live"] for taken in samples.values()), key=lambda curve: curve[0][1] if curve else 0)
    if len(live) > 1:
        panel.fill_between([time for time, _ in live], [value for _, value in live], color="#dddddd", zorder=0, step="post", label="alive")
    if scenario.line:
        # As the allocators place blocks differently: the least that any of them would need.
        panel.axhline(min(taken[0]["line"] for taken in samples.values()), color="#444444", linewidth=0.8, linestyle="--", label=scenario.line[0])
    if scenario.virtual:
        draw_curves(panels[1], samples, "virtual", colours)
        panels[1].set_ylabel("MiB of address space")
    panels[-1].legend(*panel.get_legend_handles_labels(), loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=8, frameon=False)
    return figure


def wanted(document, summary):
    """(heading, drawing function, further arguments) of each picture."""
    return [(f"{name}: {scenarios.ALL[name].stands}", over_time, (name,)) for name in document["samples"]]
