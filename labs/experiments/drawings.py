"""The labs' pictures. Each function draws onto a matplotlib figure, given what was measured by allocator."""

from typing import Any, Mapping

from kit.lab import Measured

Results = Mapping[str, Measured]
GREY, LIVE = "#777777", "#5a8f5a"


def lifo_orders(figure: Any, results: Results) -> None:
    """Which object comes back when: a falling line is the cache, a rising one the arena."""
    allocator, measured = next(iter(results.items()))
    cases = {label: case for label, case in measured.items() if label != "environment"}
    panels = figure.subplots(1, len(cases), sharey=True)
    figure.set_size_inches(9, 2.8)
    for axes, (label, case) in zip(panels, cases.items()):
        axes.plot(case["order"], ".", markersize=4)
        axes.set_title(f"tcache_count {label}", fontsize=9)
        axes.set_xlabel("n-th allocation")
    panels[0].set_ylabel("is the object freed n-th")
    figure.suptitle(f"40 objects freed in order, allocated again ({allocator})", fontsize=10)


def four_configurations(figure: Any, results: Results) -> None:
    """Time, on a logarithmic scale, with the locks taken beside each bar."""
    axes = figure.subplots()
    figure.set_size_inches(8, 1.4 + 0.9 * len(results))
    names = [(allocator, label) for label in next(iter(results.values())) for allocator in results]
    for row, (allocator, label) in enumerate(names):
        case = results[allocator][label]
        milliseconds = case["ns"] / 1e6
        axes.barh(row, milliseconds, color=f"C{list(results).index(allocator)}")
        locks = f", {case['locks']:,} locks" if "locks" in case else ""
        axes.text(milliseconds * 1.08, row, f"{milliseconds:,.0f} ms{locks}", va="center", fontsize=8)
    axes.set_yticks(range(len(names)), [f"{label} ({allocator})" if len(results) > 1 else label
                                        for allocator, label in names])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(right=axes.get_xlim()[1] * 20)
    axes.set_xlabel("milliseconds, logarithmic")
    axes.set_title("eight threads, free and malloc of 64 bytes")


PHASES = ("fill", "free all", "trim", "fill", "free all\nbut the top", "trim")


def resident_over_time(figure: Any, results: Results) -> None:
    axes = figure.subplots()
    for index, (allocator, measured) in enumerate(results.items()):
        case = measured["run"]
        axes.plot([kib / 1024 for kib in case["samples"]], label=allocator, linewidth=2 if index == 0 else 1)
        if index == 0:
            for start, text in zip(case["phases"], PHASES):
                axes.axvline(start, color=GREY, linewidth=0.5, linestyle=":")
                axes.text(start + 0.5, 88 if "trim" in text else 94, text, fontsize=8, va="bottom")
    axes.set_ylim(0, 106)
    axes.set_ylabel("resident MiB")
    axes.set_xlabel("steps of a thousand blocks")
    axes.legend(loc="center left")


def fragments(figure: Any, results: Results) -> None:
    """For every k: what is live, what is resident after the frees, and what malloc_trim leaves."""
    panels = figure.subplots(1, len(results), sharey=True, squeeze=False)[0]
    for axes, (allocator, measured) in zip(panels, results.items()):
        for place, case in enumerate(measured.values()):
            bars = (("after free", case["freed.rss"], "C0"), ("after malloc_trim", case["trimmed.rss"], "C1"),
                    ("live data", case["live_kib"] + case["start.rss"], LIVE))
            for i, (text, kib, colour) in enumerate(bars):
                axes.bar(place + (i - 1) * 0.27, kib / 1024, 0.27, color=colour, label=text if place == 0 else None)
        axes.set_xticks(range(len(measured)), [label.replace("every ", "every\n") + "th" for label in measured])
        axes.set_title(allocator)
    panels[0].set_ylabel("resident MiB")
    panels[0].set_ylim(0, 112)
    panels[0].legend(loc="upper left", fontsize=8, ncols=3)


def growth_by_touch(figure: Any, results: Results) -> None:
    axes = figure.subplots()
    figure.set_size_inches(7, 3)
    case = next(iter(results.values()))["run"]
    quarters = range(5)
    written = [i * case["pages_a_quarter"] * 4 / 1024 for i in quarters]
    for key, text in (("vsz", "virtual size"), ("rss", "resident")):
        axes.plot(written, [case[f"q{i}.{key}"] / 1024 for i in quarters], "o-", label=text)
    axes.set_xlabel("MiB written")
    axes.set_ylabel("MiB")
    axes.legend()


REGION_TEXTS = {"text": "text", "data": "data", "bss": "bss", "malloc": "malloc(16)", "break": "break",
                "libc": "libc", "stack": "stack"}


def address_map(figure: Any, results: Results) -> None:
    """The regions in address order, not to scale; the size of each gap is written into it."""
    axes = figure.subplots()
    figure.set_size_inches(9, 1.8)
    case = next(iter(results.values()))["run"]
    regions = sorted(REGION_TEXTS, key=lambda r: case[r])
    for place, region in enumerate(regions):
        colour = "C1" if region in ("malloc", "break") else "C0"
        axes.barh(0, 0.72, left=place, height=1, color=colour)
        axes.text(place + 0.36, 0, REGION_TEXTS[region], ha="center", va="center", color="white", fontsize=8)
        axes.text(place + 0.36, -0.8, f"{case[region]:#x}", ha="center", fontsize=7)
        if place > 0:
            axes.text(place - 0.14, 0.75, in_units(case[region] - case[regions[place - 1]]), ha="center", fontsize=7,
                      color=GREY)
    axes.set_xlim(-0.2, len(regions))
    axes.set_ylim(-1.1, 1.1)
    axes.axis("off")


def in_units(size: int) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            return f"{size:.0f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")


def subheap_life(figure: Any, results: Results) -> None:
    """Resident memory when two sub-heaps are full, freed, and when their thread has ended."""
    axes = figure.subplots()
    figure.set_size_inches(7, 3)
    allocator, measured = next(iter(results.items()))
    steps = ("start", "grown", "shrunk", "gone")
    for label, case in measured.items():
        axes.plot(range(len(steps)), [case[f"{s}.rss"] / 1024 for s in steps], "o-", label=label)
    axes.set_xticks(range(len(steps)), ("start", "40,000 blocks", "freed", "thread ended"))
    axes.set_ylabel("resident MiB")
    axes.set_title(allocator)
    axes.legend()
