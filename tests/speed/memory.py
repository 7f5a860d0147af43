"""Whether what the memory benchmark wrote about a small run can be true: memory.py JSON CSV"""

import csv
import json
import sys

SCENARIOS = {"pools", "silence", "holes", "survivors", "aligned", "handover", "handover-asleep", "dying", "enlarge", "server", "churn"}

document = json.load(open(sys.argv[1]))
assert list(document["contenders"]) == ["system", "rung:default"], document["contenders"]
assert set(document["samples"]) == SCENARIOS, list(document["samples"])

for scenario, by_name in document["samples"].items():
    for name, samples in by_name.items():
        [one] = samples
        where = (scenario, name, {key: value for key, value in one.items() if key != "curves"})
        # More than an empty process and less than the machine.
        assert 1 < one["peak"] < 4000, where
        assert 0 < one["mean"] <= one["peak"] * 1.05 and one["virtual"] >= one["mean"], where
        assert abs(one["mean"] * one["duration"] - one["resident_time"]) < 0.01, where
        assert one["faults"] > 0 and one["cpu"] >= 0, where
        assert (one["calls"] is None) == (name == "system"), where
        assert name == "system" or one["calls"] > 0, where
        curve = one["curves"]["resident"]
        assert len(curve) >= 2 and curve == sorted(curve, key=lambda point: point[0]), where
        assert max(value for _, value in curve) <= one["peak"] * 1.05, where

samples = {scenario: by_name["system"][0] for scenario, by_name in document["samples"].items()}
# 6,000 blocks of a kilobyte; a block of 64 MiB; buffers of which six are alive at a time.
assert 6 < samples["silence"]["peak"] < 20, samples["silence"]["peak"]
assert 64 < samples["dying"]["peak"] < 90, samples["dying"]["peak"]
assert samples["survivors"]["peak"] > 30, samples["survivors"]["peak"]
# What is alive is less than what is resident, in every tick and in sum.
server = samples["server"]
assert len(server["curves"]["live"]) > 10 and server["scenario"]["memory times time, of what is alive"] > 1, server["scenario"]
# Both say the same of what is alive, whatever is under them.
alive = [[value - by[0]["curves"]["resident"][0][1] for _, value in by[0]["curves"]["live"]] for by in document["samples"]["server"].values()]
assert len(alive[0]) == len(alive[1]) and all(abs(one - other) < 0.01 for one, other in zip(*alive)), alive
# The system's malloc cannot give back what lies below a survivor until it is told to.
silence = samples["silence"]["scenario"]
assert silence["given back after 12 s without a call"] < 50 < silence["given back after malloc_trim"], silence

for found in document["summary"].values():
    for row in found["figures"]:
        assert not any("missed" in cell for cell in row["cells"].values()), row

lines = list(csv.DictReader(open(sys.argv[2])))
assert {line["scenario"] for line in lines} == SCENARIOS
assert all(line["missed"] == "" for line in lines)
assert all(float(line["value"]) > 0 for line in lines if line["figure"] in ("peak", "mean"))
