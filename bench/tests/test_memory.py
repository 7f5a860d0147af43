import csv
import tempfile
import unittest
from pathlib import Path

from kit import tables
from kit.errors import Failure
from kit.memory import export, figures, plots, run, scenarios
from kit.memory import tables as memory_tables

BENCH = Path(__file__).resolve().parents[1]
SAMPLES = """1000000000 10240 1024 0
2000000000 20480 10240
3000000000 20480 10240 512
4000000000 20480 3072
5000000000 20480"""
MOMENTS = """moment start 1500000000 0 1000 10 2
phase burst 1600000000 0 1000 10 2
phase rest 2600000000 1000000 1000 110 52
live 1048576 3000000000
moment settled 4500000000 1000000 3000 110 52
moment end 5000000000 1000000 3000 110 53
"""


def one_run(samples=SAMPLES, moments=MOMENTS, peak=12.0, **own):
    return run.Run(*run.read_samples(samples), *run.read_moments(moments), peak, 1.0, own)


def figure(label="x", limit=None, better=scenarios.LESS, unit="MiB"):
    return scenarios.Figure(label, unit, lambda run: None, limit, better)


class Reading(unittest.TestCase):
    def test_samples_are_in_seconds_and_mib(self):
        found = one_run()
        self.assertEqual(found.times, [1, 2, 3, 4])  # the last line has no end: it does not count
        self.assertEqual(found.resident, [1, 10, 10, 3])
        self.assertEqual(found.virtual[0], 10)
        self.assertEqual(found.lazy, [(1, 0), (3, 0.5)])

    def test_a_moment_is_the_last_sample_before_it(self):
        found = one_run()
        self.assertEqual(found.at("settled"), 3)
        self.assertEqual(found.at("start"), 1)
        self.assertEqual(found.above_start("settled"), 2)
        self.assertEqual(found.lazy_at("settled"), 0.5)
        self.assertEqual(found.live_at("settled"), 1)
        self.assertIsNone(found.live_at("start"))

    def test_what_was_given_back_is_a_share_of_what_the_run_took(self):
        self.assertAlmostEqual(one_run(peak=11.0).given_back("settled"), 0.8)

    def test_a_phase_lasts_until_the_next_line(self):
        found = one_run()
        self.assertEqual(found.per_second("burst", "calls"), 50)
        self.assertEqual(found.per_second("burst", "faults"), 100)
        self.assertEqual(one_run(operations=200.0).per_million("burst", "faults", "operations"), 500000)
        self.assertEqual(found.used("calls"), 51)
        self.assertAlmostEqual(found.used("system"), 0.002)

    def test_calls_that_nobody_counts(self):
        found = one_run(moments=MOMENTS.replace(" 2\n", " -1\n").replace(" 52\n", " -1\n").replace(" 53\n", " -1\n"))
        self.assertIsNone(found.per_second("burst", "calls"))
        self.assertIsNone(found.used("calls"))

    def test_what_the_program_never_said(self):
        with self.assertRaisesRegex(Failure, "never said 'trimmed'"):
            one_run().at("trimmed")
        with self.assertRaisesRegex(Failure, "no phase 'steady'"):
            one_run().per_second("steady", "calls")
        with self.assertRaisesRegex(Failure, "no sample"):
            one_run(samples="2000000000 1 1\n").at("start")


class Area(unittest.TestCase):
    def test_a_value_holds_until_the_next_one(self):
        # 1 MiB from 1.5 to 2, 10 MiB to 4, 3 MiB to 5.
        self.assertAlmostEqual(one_run().resident_time(), 0.5 + 20 + 3)
        self.assertAlmostEqual(one_run().live_time(), 2)

    def test_only_between_begin_and_end(self):
        self.assertEqual(run.area([0, 10], [2, 100], 4, 6), 4)
        self.assertEqual(run.area([5], [2], 0, 6), 2)
        self.assertEqual(run.area([], [], 0, 6), 0)


class Thin(unittest.TestCase):
    def test_peaks_and_ends_stay(self):
        times = list(range(10000))
        values = [0.0] * 10000
        values[5001], values[7003] = 9.0, -3.0
        kept = run.thin(times, values, 300)
        self.assertLess(len(kept), 310)
        self.assertEqual(kept, sorted(kept))
        self.assertTrue({(0, 0.0), (5001, 9.0), (7003, -3.0), (9999, 0.0)} <= set(kept))

    def test_few_stay_as_they_are(self):
        self.assertEqual(run.thin([1, 2], [3, 4], 300), [(1, 3), (2, 4)])


class Promises(unittest.TestCase):
    def test_limits_in_both_directions(self):
        self.assertTrue(figure(limit=20).keeps(20))
        self.assertFalse(figure(limit=20).keeps(20.1))
        self.assertTrue(figure(limit=80, better=scenarios.MORE).keeps(80))
        self.assertFalse(figure(limit=80, better=scenarios.MORE).keeps(79.9))

    def test_one_bad_round_is_a_miss_though_the_median_is_good(self):
        found = figures.cell(figure(limit=20), [1, 2, 30], True)
        self.assertEqual(found, {"value": 2, "rounds": 3, "missed": 1})
        self.assertEqual(memory_tables.verdict(found), " MISSED in 1 of 3")
        self.assertEqual(memory_tables.verdict(figures.cell(figure(limit=20), [30, 30], True)), " MISSED")
        self.assertEqual(memory_tables.verdict(figures.cell(figure(limit=20), [1, 2, 3], True)), " met")

    def test_nothing_owed_nothing_judged(self):
        self.assertNotIn("missed", figures.cell(figure(), [30], True))
        self.assertNotIn("missed", figures.cell(figure(limit=20), [30], False))
        self.assertNotIn("missed", figures.cell(figure(limit=20), [None], True))

    def test_the_best_is_the_least_or_the_most(self):
        cells = {"a": {"value": 3}, "b": {"value": 5}, "c": {"value": None}}
        self.assertEqual(figures.best_of(figure(), cells, ["a", "b", "c"]), "a")
        self.assertEqual(figures.best_of(figure(better=scenarios.MORE), cells, ["a", "b", "c"]), "b")
        self.assertIsNone(figures.best_of(figure(), cells, ["c"]))

    def test_every_scenario_is_a_program_that_is_built_and_says_its_moments(self):
        built = (BENCH / "CMakeLists.txt").read_text()
        for scenario in scenarios.ALL.values():
            program = scenario.command[0]
            self.assertRegex(built, rf"memory_programs .*\b{program}\b", scenario.name)
            source = (BENCH / f"programs/{program}.c").read_text() + (BENCH / "programs/trim.h").read_text()
            for name in scenario.moments:
                self.assertIn(f'"{name}"', source, scenario.name)

    def test_patterns(self):
        self.assertEqual([one.name for one in scenarios.choose(["hand*,pools"])], ["handover", "handover-asleep", "pools"])
        self.assertEqual(len(scenarios.choose([])), len(scenarios.ALL))
        with self.assertRaisesRegex(Failure, "no scenario 'nothing'"):
            scenarios.choose(["nothing"])


def document(scale=1):
    label = scenarios.ALL["pools"].figures[0].label

    def sample(above):
        return {"scenario": {label: above}, **{key: 1.0 for key in figures.GENERAL}, "calls": None}

    return {
        "kind": "memory", "scale": scale, "rounds": 1,
        "contenders": {"system": {"kind": "system"}, "tcmalloc": {"kind": "peer"}, "rung:a": {"kind": "rung"}, "rung:b": {"kind": "rung"}},
        "samples": {"pools": {"system": [sample(336.0)], "tcmalloc": [sample(150.0)], "rung:a": [sample(15.0)], "rung:b": [sample(300.0)]}},
    }


class Summary(unittest.TestCase):
    def test_rung_alone_is_judged_and_compared_with_the_best_other(self):
        summary = figures.summarise(document())
        row = summary["pools"]["figures"][0]
        self.assertEqual(row["best"], "tcmalloc")
        self.assertEqual(row["ratios"], {"rung:a": 0.1, "rung:b": 2})
        self.assertEqual({name: cell.get("missed") for name, cell in row["cells"].items()}, {"system": None, "tcmalloc": None, "rung:a": 0, "rung:b": 1})
        self.assertEqual(figures.missed(summary), [("pools", "rung:b", row["label"], 300, "at most 20 MiB")])

    def test_with_less_work_nothing_is_owed(self):
        self.assertEqual(figures.missed(figures.summarise(document(0.5))), [])

    def test_tables(self):
        found = document()
        owed, general = memory_tables.all_of(found, figures.summarise(found))
        self.assertEqual(owed.rows[0][2:], ["at most 20 MiB", "336.0", "150.0", "15.0 met", "300.0 MISSED", "tcmalloc", "0.10", "2.00"])
        self.assertEqual(len(owed.heads), len(owed.rows[0]))
        self.assertEqual(len(general.heads), len(general.rows[0]))
        self.assertIn("15.0 met", tables.text(owed))

    def test_csv(self):
        found = document()
        with tempfile.NamedTemporaryFile("r", suffix=".csv") as file:
            export.write_csv(file.name, found, figures.summarise(found))
            lines = list(csv.DictReader(file))
        missed = {line["allocator"]: line["missed"] for line in lines if line["owed"]}
        self.assertEqual(missed, {"system": "", "tcmalloc": "", "rung:a": "0", "rung:b": "1"})
        self.assertEqual(len(lines), 4 * (1 + len(figures.GENERAL)))

    def test_ratio_says_nothing_without_something_to_divide_by(self):
        self.assertEqual(figures.ratio(1, 2), 0.5)
        self.assertIsNone(figures.ratio(1, 0))
        self.assertIsNone(figures.ratio(-1, 2))
        self.assertIsNone(figures.ratio(None, 2))


class Picture(unittest.TestCase):
    def test_one_giant_does_not_hide_the_others(self):
        self.assertAlmostEqual(plots.top([[(0, 10)], [(0, 20)]]), 21)
        self.assertAlmostEqual(plots.top([[(0, 10)], [(0, 20)], [(0, 900)]]), 28)
        self.assertAlmostEqual(plots.top([[(0, 10)]]), 10.5)


if __name__ == "__main__":
    unittest.main()
