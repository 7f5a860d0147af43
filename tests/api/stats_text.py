#!/usr/bin/python3
"""The texts of rung_stats_json() and rung_stats_prometheus() are what their formats ask for, and say the same.

usage: stats_text.py program
"""
import json
import re
import subprocess
import sys

METRIC = re.compile(r'(rung_[a-z0-9_]+)(\{size="[0-9]+"\})? ([0-9]+)$')


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    result = subprocess.run(sys.argv[1:], capture_output=True, text=True, timeout=50)
    if result.returncode:
        sys.exit("%s: exit status %d\n%s" % (sys.argv[1], result.returncode, result.stderr))
    report, end = json.JSONDecoder().raw_decode(result.stdout)
    memory, counters = report["memory"], report["counters"]
    parts = ["live", "cached_threads", "cached_depot", "cached_inboxes", "pinned", "free_resident", "free_purged",
             "metadata_heads", "metadata_own", "metadata_untouched"]
    assert memory["accessible"] == sum(memory[part] for part in parts), memory
    assert memory["live"] >= 100 * 100 and memory["mapped"] >= 100 << 20 and memory["mapped_chunks"] == 1, memory
    assert memory["mapped"] == counters["mapped_bytes"], (memory, counters)
    for c in report["classes"]:
        assert c["runs"] > 0 and c["live"] + c["cached"] + c["free"] == c["runs"] * (65536 // c["size"]), c
    samples, declared = {}, set()
    for line in result.stdout[end:].strip().splitlines():
        if line.startswith("# HELP "):
            assert len(line.split(" ", 3)) == 4, line
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert kind in ("gauge", "counter") and name not in declared, line
            assert (kind == "counter") == name.endswith("_total"), line
            declared.add(name)
        else:
            name, label, value = METRIC.match(line).groups()
            assert name in declared and (name, label) not in samples, line
            samples[name, label] = int(value)
    assert samples["rung_live_bytes", None] == memory["live"], samples
    assert samples["rung_mapped_bytes", None] == memory["mapped"], samples
    assert samples["rung_arenas", None] == memory["arenas"], samples
    assert ("rung_count_sys_mmap_total", None) in samples, samples
    assert len(samples) >= len(memory) + len(counters), samples
    print("%d figures, %d counters, %d sizes, %d samples" % (len(memory), len(counters), len(report["classes"]), len(samples)))


main()
