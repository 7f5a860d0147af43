"""Whether what the benchmark wrote about a small run can be true: compare.py JSON CSV"""

import csv
import json
import sys

document = json.load(open(sys.argv[1]))
assert list(document["contenders"]) == ["system", "rung:glibc"], document["contenders"]
assert document["contenders"]["rung:glibc"]["RUNG_OPTIONS"] == "profile=glibc"
ran = set(document["samples"]) | set(document["skipped"])
assert len(ran) == 20 and set(document["skipped"]) <= {"z3"}, ran
rows = document["summary"]["rows"]
for workload, by_name in document["samples"].items():
    for name in ("system", "rung:glibc"):
        samples = by_name[name]
        assert len(samples) == 2, (workload, name, samples)
        for sample in samples:
            assert 0 < sample["time"] < 200 and sample["cpu"] >= 0, (workload, name, sample)
            # More than an empty process and less than the machine: the peak is the program's, in KiB.
            assert 1000 < sample["peak"] < 4e6, (workload, name, sample)
    assert rows[workload]["system"]["time"]["ratio"] == 1

# Even the shortest run of `large` holds blocks of many MiB; the other one only small blocks.
peak = {workload: rows[workload]["system"]["peak"]["median"] for workload in ("large", "replace-1")}
assert peak["large"] > 2 * peak["replace-1"], peak
# They are gone when all is freed: memory at rest is read when it says it is.
rested = rows["large"]["system"]["rested"]["median"]
assert 500 < rested < peak["large"] / 2, (rested, peak)
assert document["summary"]["means"]["system"]["peak"] == 1

# The counters are Rung's: threads take locks, and a program of large blocks makes system calls.
counters = document["summary"]["counters"]
assert list(counters["crowd-2"]) == ["rung:glibc"], counters["crowd-2"]
assert counters["crowd-2"]["rung:glibc"]["locks"] > 1000, counters["crowd-2"]
assert counters["replace-1"]["rung:glibc"]["system calls"] > 0, counters["replace-1"]
assert document["summary"]["scaling"]["rung:glibc"]["2"]["locks"] > 1000, document["summary"]["scaling"]

percentiles = list(document["summary"]["latency"]["latency-1"]["system"].values())
assert len(percentiles) == 5 and 0 < percentiles[0] < 1e6 and percentiles == sorted(percentiles), percentiles

lines = list(csv.DictReader(open(sys.argv[2])))
assert len(lines) == 2 * len(rows), len(lines)
assert all(float(line["cpu_median"]) >= 0 and float(line["peak_ratio"]) > 0 for line in lines)
