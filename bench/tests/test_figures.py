import unittest

from kit import figures


def document(samples, kinds, aside=None, groups=None):
    return {
        "samples": samples,
        "aside": aside or {},
        "base": "system",
        "workloads": groups or {workload: "own" for workload in samples},
        "contenders": {name: {"kind": kind} for name, kind in kinds.items()},
    }


def sample(time, peak=1000.0, **more):
    return {"time": time, "cpu": time, "peak": peak, "faults": 10.0, **more}


class Statistics(unittest.TestCase):
    def test_ratio_is_the_median_of_the_rounds_ratios(self):
        # Not the ratio of the medians, 2 / 2: the third round was slow for both.
        self.assertEqual(figures.ratio([1, 2, 40], [2, 1, 20]), 2)

    def test_ratio_leaves_out_rounds_in_which_the_base_took_nothing(self):
        self.assertEqual(figures.ratio([1, 3], [0, 2]), 1.5)
        self.assertIsNone(figures.ratio([1, 3], [0, 0]))

    def test_geometric_mean(self):
        self.assertAlmostEqual(figures.geometric_mean([0.5, 2]), 1)
        self.assertAlmostEqual(figures.geometric_mean([1, 10, 100]), 10)
        self.assertIsNone(figures.geometric_mean([]))

    def test_spread_is_half_the_middle_half_over_the_median(self):
        self.assertEqual(figures.spread([10]), 0)
        self.assertEqual(figures.spread([8, 12]), 0.2)
        # Of eight values, two at each end do not count.
        self.assertEqual(figures.spread([0, 1, 9, 10, 10, 11, 90, 99]), 0.1)
        self.assertEqual(figures.spread([0, 0]), 0)


class Summary(unittest.TestCase):
    KINDS = {"system": "system", "mimalloc": "peer", "jemalloc": "peer", "rung:default": "rung"}

    def summary(self):
        samples = {
            "a": {"system": [sample(4)], "mimalloc": [sample(2)], "jemalloc": [sample(4)], "rung:default": [sample(1)]},
            "b": {"system": [sample(4)], "mimalloc": [sample(8)], "jemalloc": [sample(2)], "rung:default": [sample(4)]},
        }
        return figures.summarise(document(samples, self.KINDS))

    def test_means_over_the_workloads(self):
        means = self.summary()["means"]
        self.assertEqual(means["system"]["time"], 1)
        self.assertAlmostEqual(means["mimalloc"]["time"], 1)
        self.assertAlmostEqual(means["rung:default"]["time"], 0.5)

    def test_the_best_peer_is_another_one_in_each_workload(self):
        found = self.summary()["peers"]["rung:default"]["time"]
        self.assertEqual(list(found["workloads"]), ["b", "a"])  # the worst first
        self.assertEqual(found["workloads"]["a"], {"peer": "mimalloc", "ratio": 0.5})
        self.assertEqual(found["workloads"]["b"], {"peer": "jemalloc", "ratio": 2})
        self.assertEqual(found["peer"], "jemalloc")
        self.assertAlmostEqual(found["mean"], 0.5 / 0.5**0.5)

    def test_a_workload_that_somebody_has_no_figure_for_is_in_nobodys_mean(self):
        samples = {"a": {"system": [sample(4)], "rung:default": [sample(2)]}, "b": {"system": [sample(4)], "rung:default": [sample(4)]}}
        aside = {"a": {"system": {"rested": 100.0}, "rung:default": {"rested": 50.0}}, "b": {"rung:default": {"rested": 1.0}}}
        kinds = {"system": "system", "rung:default": "rung"}
        means = figures.summarise(document(samples, kinds, aside))["means"]
        self.assertAlmostEqual(means["rung:default"]["rested"], 0.5)

    def test_scaling_counts_in_no_mean(self):
        samples = {"a": {"system": [sample(4)], "rung:default": [sample(2)]},
                   "crowd-8": {"system": [sample(4, operations=8e6)], "rung:default": [sample(1, operations=8e6)]}}
        aside = {"crowd-8": {"rung:default": {"lock_acquisitions": 80.0, "lock_waits": 0.0, "sys_mmap": 3.0, "sys_brk": 4.0}}}
        found = figures.summarise(document(samples, {"system": "system", "rung:default": "rung"}, aside, {"a": "own", "crowd-8": "scaling"}))
        self.assertAlmostEqual(found["means"]["rung:default"]["time"], 0.5)
        self.assertEqual(found["scaling"]["rung:default"][8], {"throughput": 8, "throughput_cpu": 8, "locks": 10})
        self.assertEqual(found["scaling"]["system"][8], {"throughput": 2, "throughput_cpu": 2})
        self.assertEqual(found["counters"]["crowd-8"]["rung:default"], {"locks": 80, "waits": 0, "system calls": 7, "page faults": 10})


if __name__ == "__main__":
    unittest.main()
