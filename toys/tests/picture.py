#!/usr/bin/python3
"""The picture names every allocator and shows each figure, and the same results give the same file."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "compare"))
try:
    import picture
except ImportError as error:
    print(f"skipped: {error}; the picture needs the package python3-matplotlib")
    sys.exit(77)

ROWS = [
    {"name": "bump", "kind": "toy", "ns_per_step": 1721.0, "rss_live_kib": 1457000, "rss_kept_kib": 1457000},
    {"name": "glibc, no tcache", "kind": "glibc", "ns_per_step": 118.0, "rss_live_kib": 16384, "rss_kept_kib": 256},
    {"name": "jemalloc", "kind": "peer", "ns_per_step": 207.0, "rss_live_kib": 14000, "rss_kept_kib": 9000},
    {"name": "rung default", "kind": "rung", "ns_per_step": 93.0, "rss_live_kib": 13000, "rss_kept_kib": 1000},
]
picture.matplotlib.rcParams["svg.fonttype"] = "none"  # text as text, to be found below
with tempfile.TemporaryDirectory() as directory:
    first, second = pathlib.Path(directory, "1.svg"), pathlib.Path(directory, "2.svg")
    picture.draw(ROWS, first)
    picture.draw(ROWS, second)
    svg = first.read_text()
    assert svg == second.read_text(), "two drawings of the same results differ"
    for text in [row["name"] for row in ROWS] + ["1721 ns", "93 ns", "1423 MiB", "0.25 MiB", "13.7 MiB"]:
        assert f">{text}</text>" in svg, f"the picture does not say {text!r}"
print("drawn twice, the same")
