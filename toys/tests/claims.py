#!/usr/bin/python3
"""The verdicts on made-up results: all hold for plausible figures, and each claim fails for the figure it is about."""

import copy
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "compare"))
import claims  # noqa: E402


def row(name, ns, live_mib, kept_mib, faults, mmaps):
    return {"name": name, "ns_per_step": ns, "rss_start_kib": 100, "rss_live_kib": live_mib * 1024,
            "rss_kept_kib": kept_mib * 1024, "faults_in_steps": faults, "live_bytes": 10 << 20,
            "requested_bytes": 1400 << 20, "large_requests": 5000, "calls": {"mmap": mmaps}}


def plausible():
    rows = [row("bump", 2000, 1401, 1401, 358000, 0), row("freelist", 3000, 18, 18, 2000, 0),
            row("trim", 7000, 14, 0.2, 20000, 0), row("mmap", 7300, 11, 0.2, 240000, 5000)]
    for name in ("glibc", "rung glibc"):
        rows += [row(name, 100, 16, 15, 9000, 50), row(f"{name}, no tcache", 150, 16, 0.3, 9000, 50),
                 row(f"{name}, fixed threshold", 900, 12, 5, 240000, 4990)]
    return {r["name"]: r for r in rows}


# What to spoil, and the claims that must then fail, and no others.
SPOILED = [
    (("bump", "rss_live_kib", 1300 * 1024), {"bump-keeps-everything"}),
    (("bump", "rss_kept_kib", 10 * 1024), {"bump-keeps-everything"}),
    (("freelist", "ns_per_step", 400), {"freelist-walks"}),
    (("trim", "ns_per_step", 3300), {"trim-third-walk"}),
    (("trim", "ns_per_step", 900), {"trim-walks", "trim-third-walk"}),
    (("trim", "rss_kept_kib", 2 * 1024), {"trim-gives-back"}),
    (("freelist", "rss_kept_kib", 2 * 1024), {"trim-gives-back"}),
    (("mmap", "rss_live_kib", 15 * 1024), {"mmap-lowest-rss"}),
    (("mmap", "faults_in_steps", 30000), {"mmap-pays-in-time"}),
    (("mmap", "ns_per_step", 3000), {"mmap-pays-in-time"}),
    (("mmap", "calls", {"mmap": 4000}), {"glibc-few-mmaps", "rung-glibc-few-mmaps"}),
    (("glibc", "calls", {"mmap": 4000}), {"glibc-few-mmaps"}),
    (("glibc", "rss_kept_kib", 1024), {"glibc-tcache-pins"}),
    (("glibc, no tcache", "rss_kept_kib", 3 * 1024), {"glibc-no-tcache-gives-back"}),
    (("glibc, fixed threshold", "ns_per_step", 150), {"glibc-fixed-threshold-slow"}),
    (("rung glibc", "rss_kept_kib", 1024), {"rung-glibc-tcache-pins"}),
    (("rung glibc, no tcache", "rss_kept_kib", 3 * 1024), {"rung-glibc-no-tcache-gives-back"}),
    (("rung glibc, fixed threshold", "ns_per_step", 150), {"rung-glibc-fixed-threshold-slow"}),
    (("rung glibc", "calls", {"mmap": 4000}), {"rung-glibc-few-mmaps"}),
]


def ids(judged, holds):
    return {c.id for c in judged if c.holds is holds}


def main():
    judged = claims.judge(plausible())
    assert ids(judged, True) == {c.id for c in judged}, ids(judged, False)
    for (name, key, value), expected in SPOILED:
        results = copy.deepcopy(plausible())
        results[name][key] = value
        failed = ids(claims.judge(results), False)
        assert failed == expected, f"{name} {key}={value}: {failed} fail, not {expected}"
    untested = {c.id for c in judged} - set().union(*(e for _, e in SPOILED))
    assert not untested, f"no spoiled figure for {untested}"

    results = plausible()
    results["glibc"]["calls"] = None
    assert ids(claims.judge(results), None) == {"glibc-few-mmaps"}
    print(f"{len(judged)} claims, {len(SPOILED)} spoiled figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
