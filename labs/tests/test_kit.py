"""The runner itself: what it reads, how it judges, what it draws and writes."""

import contextlib
import io
import json
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import lab as runner
from experiments import LABS
from experiments.tcache import reversed_run
from kit import draw, pages, terminal
from kit.allocators import Allocator, clean_environment
from kit.errors import CannotRun, ProgramFailed, Skipped
from kit.lab import Case, Claim, Figure, Lab, Verdict, judge
from kit.outcome import Outcome, Result, run_lab
from kit.programs import Bench, Call, parse, total
from kit.wants import About, AtLeast, AtMost, Between, accepts, show, shortened

REPOSITORY = Path(__file__).resolve().parents[2]
GLIBC = Allocator("glibc 2.36", "glibc")
RUNG = Allocator("rung:glibc", "rung", "glibc")
DEFAULT = Allocator("rung:default", "rung", "default")
OTHER = Allocator("other", "other")


def lab_of(value, **claim) -> Lab:
    """A lab that measures `value` and wants 16."""
    return Lab("sample", "How many?", "It counts.", measure=lambda bench, allocator: {"run": {"n": value}},
               figures=[Figure("count", lambda m: m["run"]["n"], "16")],
               claims=[Claim("sixteen", lambda m: m["run"]["n"], 16, **claim)])


class Reading(unittest.TestCase):
    def test_values(self):
        measured = parse("n=16\nlist=1,-2,3\nhex=0x10\nratio=1.5\ntext=free(): 2,3\nnot a pair\n")
        self.assertEqual(dict(measured), {"n": 16, "list": [1, -2, 3], "hex": 16, "ratio": 1.5, "text": "free(): 2,3"})

    def test_calls_belong_to_the_phase_before_them(self):
        measured = parse("call=brk addr=0 ret=0x10\nmark=a\ncall=mmap addr=0 len=0x1000 ret=0x7000\nmark=b\nmark=a\n"
                         "call=brk addr=0x5 ret=0x5\n")
        self.assertEqual(measured.phases, {"a": [Call("mmap", {"addr": 0, "len": 4096}, 0x7000),
                                                 Call("brk", {"addr": 5}, 5)], "b": []})
        self.assertEqual(measured.calls("a", "mmap"), [Call("mmap", {"addr": 0, "len": 4096}, 0x7000)])

    def test_malloc_info(self):
        measured = parse('xml.info=begin\n<malloc version="1"><heap nr="0"><total type="rest" count="2" size="64"/>'
                         "</heap></malloc>\nxml.info=end\nn=1\n")
        self.assertEqual(total(measured.heaps()[0], "total", "rest"), 64)
        self.assertEqual(total(measured.heaps()[0], "total", "rest", "count"), 2)
        self.assertIsNone(total(measured.heaps()[0], "total", "fast"))
        self.assertEqual(measured["n"], 1)

    def test_malloc_info_that_is_no_xml(self):
        with self.assertRaisesRegex(ProgramFailed, "well-formed"):
            parse("xml.info=begin\n<malloc><heap></malloc>\nxml.info=end\n")

    def test_environment(self):
        hidden = {"MALLOC_ARENA_MAX": "1", "GLIBC_TUNABLES": "x", "LD_PRELOAD": "x", "RUNG_OPTIONS": "x"}
        with unittest.mock.patch.dict("os.environ", {**hidden, "KEPT": "1"}):
            env = clean_environment()
        self.assertEqual(env["KEPT"], "1")
        self.assertFalse(set(hidden) & set(env))


class Wanting(unittest.TestCase):
    def test_bounds(self):
        for want, inside, outside in (
                (About(100, within=0.1), (90, 110), (89, 111)), (About(100, within=0.01, plus_minus=5), (95, 105), (94,)),
                (About(0, plus_minus=2), (-2, 2), (-3, 3)), (About(-964, within=0.1), (-964 + 96,), (-860,)),
                (AtMost(2), (2, 0), (2.1,)), (AtLeast(2), (2, 9), (1.9,)), (Between(1, 3), (1, 3), (0.9, 3.1)),
                (16, (16,), (15, None)), ([1, 2], ([1, 2],), ([1], [2, 1]))):
            for value in inside:
                self.assertTrue(accepts(want, value), f"{want} takes {value}")
            for value in outside:
                self.assertFalse(accepts(want, value), f"{want} refuses {value}")

    def test_show(self):
        self.assertEqual([show(v) for v in (True, 135168, [260] * 8, [0, 1, 1], [], 2.0, 12345.6, None)],
                         ["yes", "135,168", "8 × 260", "0 1 1", "none", "2", "12,346", "not measured"])
        self.assertEqual(shortened([3, 2, 1, 0, 4, 5, 6, 9]), "3..0 4..6 9")

    def test_reversed_run(self):
        for order, depth in (([2, 1, 0, 3, 4], 3), ([0, 1, 2], 0), ([4, 3, 2, 1, 0], 5), ([1, 0, 2, 3], 2),
                             ([3, 2, 4, 0], 0)):
            self.assertEqual(reversed_run(order), depth, order)


class Judging(unittest.TestCase):
    def verdict(self, value, allocator, **claim):
        outcome = run_lab(lab_of(value, **claim), [allocator], Bench(Path()))
        return outcome.results[0].judgements[0].verdict, outcome.failed

    def test_verdicts(self):
        by_design = {"by_design": {"default": "deeper"}}
        for value, allocator, claim, verdict, failed in (
                (16, RUNG, {}, Verdict.HOLDS, False), (7, RUNG, {"older": 7}, Verdict.FAILS, True),
                (7, GLIBC, {"older": 7}, Verdict.OLDER, False), (8, GLIBC, {"older": 7}, Verdict.FAILS, True),
                (7, GLIBC, {}, Verdict.FAILS, True), (7, OTHER, {}, Verdict.OTHER, False),
                (64, DEFAULT, by_design, Verdict.DESIGN, False), (64, RUNG, by_design, Verdict.FAILS, True)):
            self.assertEqual(self.verdict(value, allocator, **claim), (verdict, failed), (value, allocator.name, claim))

    def test_what_rung_no_longer_gives_is_a_failure(self):
        claim = Claim("locks", lambda m: m["run"]["locks"], 0)
        self.assertIs(judge(claim, RUNG, {"run": {}}).verdict, Verdict.FAILS)
        self.assertIs(judge(claim, GLIBC, {"run": {}}).verdict, Verdict.NOT_MEASURED)

    def test_what_a_profile_has_not_by_design_is_none(self):
        claim = Claim("locks", lambda m: m["run"]["locks"], 0, by_design={"default": "it has none"})
        self.assertIs(judge(claim, DEFAULT, {"run": {}}).verdict, Verdict.DESIGN)
        self.assertIs(judge(claim, RUNG, {"run": {}}).verdict, Verdict.FAILS)

    def test_programs_that_fail_or_skip(self):
        def raising(error):
            def measure(bench, allocator):
                raise error
            return Lab("sample", "?", "", measure=measure)

        self.assertTrue(run_lab(raising(ProgramFailed("died")), [RUNG], Bench(Path())).failed)
        self.assertFalse(run_lab(raising(ProgramFailed("died")), [OTHER], Bench(Path())).failed)
        skipped = run_lab(raising(Skipped("no ptrace")), [RUNG], Bench(Path()))
        self.assertEqual((skipped.failed, skipped.skipped), (False, True))


class Running(unittest.TestCase):
    """The whole program, on labs that need no program."""

    def run_main(self, lab, *arguments):
        with tempfile.TemporaryDirectory() as directory, unittest.mock.patch.object(runner, "LABS", (lab,)), \
                contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            library = Path(directory, "librung.so")
            library.touch()
            result = Path(directory, "out.json")
            status = runner.main([*arguments, "--librung", str(library), "--bindir", directory, "--json", str(result)])
            document = json.loads(result.read_text()) if result.exists() else None
        return status, out.getvalue(), err.getvalue(), document

    def test_exit_status(self):
        self.assertEqual(self.run_main(lab_of(16), "sample")[0], 0)
        self.assertEqual(self.run_main(lab_of(15), "sample")[0], 1)
        self.assertEqual(self.run_main(lab_of(15), "sample", "--under", "rung:default")[0], 1)
        self.assertEqual(self.run_main(lab_of(16), "no-such-lab")[0], 2)
        self.assertEqual(self.run_main(lab_of(16), "sample", "--under", "/no/such.so")[0], 2)
        self.assertEqual(self.run_main(lab_of(16), "sample", "--docs", "/nowhere")[0], 2)

        def skipping(bench, allocator):
            raise Skipped("not here")
        status, out, _, _ = self.run_main(Lab("sample", "?", "", measure=skipping), "sample")
        self.assertEqual(status, 77)
        self.assertIn("not here", out)

    def test_json(self):
        _, _, _, document = self.run_main(lab_of(15), "sample")
        claim = document["labs"][0]["allocators"]["rung:glibc"]["claims"][0]
        self.assertEqual((claim["measured"], claim["wanted"], claim["verdict"]), (15, "16", "FAILS"))
        self.assertTrue(document["labs"][0]["failed"])

    def test_listing(self):
        status, out, _, _ = self.run_main(lab_of(16))
        self.assertEqual((status, out.split()[:3]), (0, ["sample", "How", "many?"]))

    def test_missing_programs_are_named(self):
        lab = Lab("sample", "?", "", cases=[Case("run", "no-such-program")])
        status, out, _, _ = self.run_main(lab, "sample")
        self.assertEqual(status, 1)
        self.assertIn("no-such-program is not in", out)


class Definitions(unittest.TestCase):
    def test_names_are_unique(self):
        names = [lab.name for lab in LABS]
        self.assertEqual(len(names), len(set(names)))

    def test_every_lab_claims_something(self):
        for lab in LABS:
            self.assertTrue(lab.claims and lab.reading and lab.text, lab.name)
            self.assertTrue(lab.question.endswith("?"), lab.name)
            texts = [claim.text for claim in lab.claims]
            self.assertEqual(len(texts), len(set(texts)), f"{lab.name} says the same twice")

    def test_every_program_belongs_to_a_lab(self):
        support = {"probe", "crowd", "trace"}
        sources = {path.stem for path in (REPOSITORY / "labs" / "programs").glob("*.c")}
        used = {case.program for lab in LABS if not lab.sources for case in lab.cases}
        self.assertEqual(sources - support, used)


class Writing(unittest.TestCase):
    def test_guide(self):
        guide = (REPOSITORY / pages.GUIDE).read_text()
        pages.check_guide(guide, LABS)
        for broken, complaint in ((guide.replace("{{toys}}", ""), "toys is not in it"),
                                  (guide + "{{toys}}", "toys is in it twice"),
                                  (guide + "{{no-such-lab}}", "no-such-lab is not a lab"),
                                  (guide.replace("{{toys}}", "{{x}}").replace("{{toys-compared}}", "{{toys}}")
                                   .replace("{{x}}", "{{toys-compared}}"), "order")):
            with self.assertRaisesRegex(CannotRun, complaint):
                pages.check_guide(broken, LABS)

    def test_a_page(self):
        outcome = run_lab(lab_of(64, by_design={"default": "bins deepen"}), [RUNG, DEFAULT], Bench(Path()))
        text = pages.page(outcome, None, outcome.lab, "../..", picture=False)
        self.assertIn("| sixteen | 16 | 64  FAILS | 64  differs: by design |", text)
        self.assertIn("**rung:default differs on purpose** in “sixteen”: bins deepen", text)
        self.assertIn("[next: How many?](sample.md)", text)

    def test_every_page_is_written_and_old_ones_go(self):
        outcomes = [Outcome(lab, [Result(RUNG, skipped="for the test")]) for lab in LABS]
        with tempfile.TemporaryDirectory() as directory:
            gone, foreign = Path(directory, "gone.md"), Path(directory, "notes.md")
            gone.write_text(pages.GENERATED + "\n")
            foreign.write_text("# Notes\n")
            pages.write(outcomes, LABS, Path(directory), REPOSITORY)
            names = {path.stem for path in Path(directory).glob("*.md")}
        self.assertEqual(names, {lab.name for lab in LABS} | {"README", "notes"})

    def test_the_repositorys_pages_are_those_of_the_labs(self):
        for lab in LABS:
            text = (REPOSITORY / "docs" / "labs" / f"{lab.name}.md").read_text()
            self.assertIn(f"# {lab.question}\n", text, "write them again: rung lab --all --docs docs/labs")
            for claim in lab.claims:
                self.assertIn(claim.text.replace("|", "\\|"), text, f"{lab.name}: rung lab --all --docs docs/labs")

    def test_cells_wrap(self):
        lines = terminal.table([["claim", "wanted"], ["a " * 40, "b " * 60]], 80).splitlines()
        self.assertGreater(len(lines), 3)
        self.assertLessEqual(max(map(len, lines)), 80)


class Drawing(unittest.TestCase):
    def setUp(self):
        try:
            draw.check()
        except CannotRun as reason:
            self.skipTest(str(reason))

    def test_the_same_figures_make_the_same_picture(self):
        def picture(figure, results):
            figure.subplots().plot([1, 2, results["rung:glibc"]["run"]["n"]])

        def drawing(value):
            lab = lab_of(value)
            lab = Lab(lab.name, lab.question, lab.text, measure=lab.measure, picture=picture)
            with tempfile.TemporaryDirectory() as directory:
                path, = draw.draw_all([run_lab(lab, [RUNG], Bench(Path()))], Path(directory))
                return path.read_bytes()

        self.assertEqual(drawing(3), drawing(3))
        self.assertNotEqual(drawing(3), drawing(4))


if __name__ == "__main__":
    unittest.main()
