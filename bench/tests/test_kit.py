import io
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from kit import ablation, contenders, figures, progress, rounds, tables, verdict, workloads
from kit.errors import Failure

ROOT = Path(__file__).resolve().parents[2]


class Order(unittest.TestCase):
    def test_everybody_is_first_equally_often_and_has_different_neighbours(self):
        names = ["a", "b", "c"]
        orders = [rounds.order(names, turn) for turn in range(6)]
        for place in range(3):
            self.assertEqual(sorted(order[place] for order in orders), ["a", "a", "b", "b", "c", "c"])
        self.assertTrue(all(sorted(order) == names for order in orders))
        self.assertIn(["a", "b", "c"], orders)
        self.assertIn(["c", "b", "a"], orders)


class Contenders(unittest.TestCase):
    def setUp(self):
        self.library = tempfile.NamedTemporaryFile(suffix=".so")
        self.addCleanup(self.library.close)

    def test_rung_with_options(self):
        one = contenders.named("rung:default,runs=on,runs=off,depot_bytes=0", self.library.name)
        self.assertEqual(one.environment, {"RUNG_OPTIONS": "profile=default,runs=off,depot_bytes=0"})
        self.assertEqual(one.kind, "rung")
        with self.assertRaisesRegex(Failure, "settings such as"):
            contenders.named("rung:default,runs", self.library.name)

    def test_the_base_comes_first_and_nobody_twice(self):
        chosen = contenders.choose(["rung:glibc", "system", "rung:glibc"], "rung:default", self.library.name)
        self.assertEqual(list(chosen), ["rung:default", "rung:glibc", "system"])

    def test_a_path_and_a_name_for_it(self):
        path = self.library.name
        self.assertEqual(contenders.named(f"mine={path}", path).name, "mine")
        self.assertEqual(contenders.named(f"mine={path}", path).library, str(Path(path).resolve()))
        with self.assertRaisesRegex(Failure, "no allocator 'nonsense'"):
            contenders.named("nonsense", path)

    def test_nothing_that_configures_an_allocator_is_handed_on(self):
        with mock.patch.dict("os.environ", {"LD_PRELOAD": "x.so", "RUNG_OPTIONS": "a=b", "MALLOC_ARENA_MAX": "1", "KEPT": "yes"}):
            kept = contenders.clean_environment()
        self.assertEqual(kept["KEPT"], "yes")
        self.assertFalse({"LD_PRELOAD", "RUNG_OPTIONS", "MALLOC_ARENA_MAX"} & set(kept))


class Ablation(unittest.TestCase):
    def test_every_mechanism_is_an_option_of_the_table(self):
        table = set(re.findall(r'^OPTION\(\w+, "(\w+)"', (ROOT / "src/options/options.def").read_text(), re.M))
        for name, (_, settings) in ablation.MECHANISMS.items():
            for setting in settings.split(","):
                self.assertIn(setting.partition("=")[0], table, name)

    def test_each_differs_from_the_base(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as library:
            chosen = ablation.choose(library.name)
        options = [one.environment["RUNG_OPTIONS"] for one in chosen.values()]
        self.assertEqual(len(set(options)), len(options))
        self.assertEqual(list(chosen)[0], ablation.EVERYTHING)


class Workloads(unittest.TestCase):
    def test_patterns_groups_and_commas(self):
        self.assertEqual(workloads.choose(["tree,burst-*", "tree"]), ["tree", "burst-lifo", "burst-fifo"])
        self.assertEqual(workloads.choose(["real"]), list(workloads.REAL))
        with self.assertRaisesRegex(Failure, "no program 'nothing'"):
            workloads.choose(["nothing"])

    def test_every_script_is_there(self):
        for script in (workloads.REAL | workloads.MORE).values():
            self.assertTrue((ROOT / script).is_file(), script)


class Verdict(unittest.TestCase):
    def test_over_the_limit(self):
        samples = {"a": {"system": [{"time": 1.0, "peak": 10.0}], "rung:x": [{"time": 1.2, "peak": 10.0}]},
                   "b": {"system": [{"time": 1.0, "peak": 10.0}], "rung:x": [{"time": 0.5, "peak": 20.0}]}}
        pairs = verdict.pairs_of(samples, "system", ["rung:x"])
        self.assertEqual(verdict.over_limit(pairs, 1.05, ("time", "peak")), [("a", "rung:x", "time", 1.2), ("b", "rung:x", "peak", 2.0)])
        self.assertEqual(verdict.over_limit(pairs, 2, ("time", "peak")), [])


class Tables(unittest.TestCase):
    def test_columns_line_up(self):
        table = tables.Table("title", "note", ["workload", "a"], [["x", "1.00"], ["longer name", "10.00"]], 1)
        lines = tables.text(table).splitlines()
        self.assertEqual(lines[1], "workload         a")
        self.assertEqual(lines[2], "x             1.00")
        self.assertEqual(lines[3], "-" * len(lines[1]))
        self.assertEqual(lines[4], "longer name  10.00")

    def test_metrics_have_units(self):
        self.assertEqual(set(tables.UNITS), set(figures.METRICS))


class ProgressLine(unittest.TestCase):
    def test_says_how_far_and_how_long(self):
        out = io.StringIO()
        with mock.patch("time.monotonic", side_effect=[0, 0, 100, 130]):
            shown = progress.Progress(out)
            shown.steps = shown.work = 4
            shown.step("one")
            shown.step("two")
        self.assertEqual(out.getvalue(), "1/4  one\n2/4  two  (6 min left)\n")

    def test_span(self):
        self.assertEqual([progress.span(value) for value in (59.6, 600, 7500)], ["60 s", "10 min", "2 h 05 min"])


if __name__ == "__main__":
    unittest.main()
