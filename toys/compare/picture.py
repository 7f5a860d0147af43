"""The comparison as an SVG: a row an allocator, a panel each for time, RSS with the blocks live, and RSS kept."""

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "toys"  # the same results make the same file

import matplotlib.pyplot as plt  # noqa: E402  (the backend has to be chosen first)

COLOURS = {"toy": "#c2703d", "glibc": "#3d6fa5", "peer": "#8a8a8a", "rung": "#2f8f5b"}


def panel(axes, title, values, colours, text):
    axes.barh(range(len(values)), values, color=colours, log=True)
    axes.set_title(title, fontsize=10)
    axes.set_xlim(min(values) / 2, max(values) * 8)
    for row, value in enumerate(values):
        axes.text(value * 1.15, row, text(value), va="center", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def mib(value):
    return f"{value:.0f} MiB" if value >= 1000 else f"{value:.3g} MiB"


def draw(rows, path):
    colours = [COLOURS[r["kind"]] for r in rows]
    figure, (time, live, kept) = plt.subplots(
        1, 3, sharey=True, figsize=(11, 0.9 + 0.32 * len(rows)), constrained_layout=True
    )
    time.set_yticks(range(len(rows)), [r["name"] for r in rows])
    time.invert_yaxis()
    panel(time, "time per step", [r["ns_per_step"] for r in rows], colours, "{:.0f} ns".format)
    panel(live, "anonymous RSS, blocks live", [r["rss_live_kib"] / 1024 for r in rows], colours, mib)
    panel(kept, "anonymous RSS, all freed", [r["rss_kept_kib"] / 1024 for r in rows], colours, mib)
    figure.supxlabel("logarithmic scales; shorter is better", fontsize=8)
    figure.savefig(path, metadata={"Date": None})
