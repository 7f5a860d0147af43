"""One run of one scenario under one allocator, with its memory read meanwhile."""

import shutil

from ..contenders import clean_environment
from ..errors import Failure
from ..measure import Meter
from ..workloads import Workload
from . import scenarios
from .run import MIB, Run, read_moments, read_samples, thin

CURVE = 600  # about as many points of a curve are kept


def workload(scenario, place, programs, scale):
    program, *arguments = scenario.command
    return Workload(scenario.name, "memory", [str(programs / program), *arguments, str(scale)], place / scenario.name, work=scenario.seconds)


class Watcher(Meter):
    def run(self, workload, contender):
        """A sample: the scenario's figures and the general ones, by name, and the curves."""
        where = workload.place / "run"
        where.mkdir(parents=True)
        samples, moments, report, own = (where.with_suffix(f".{what}") for what in ("samples", "moments", "report", "figures"))
        environment = clean_environment() | contender.environment | {"BENCH_FIGURES": str(own)}
        arguments = ["--watch", str(samples), str(moments), str(report), contender.library, *workload.command]
        try:
            printed, said, status = self.launch(arguments, where, environment, workload, contender)
            figures, ended = self.read(report) if status == 0 else ({}, str(status))
            self.judge(workload, contender, ended, printed, said)
            try:
                run = Run(*read_samples(samples.read_text()), *read_moments(moments.read_text()), figures["peak"] / MIB, figures["cpu"], self.read_own(own))
                return sample_of(run, scenarios.ALL[workload.name])
            except Failure as failure:
                raise Failure(f"{workload.name} under {contender.name}: {failure}") from failure
        finally:
            shutil.rmtree(where, ignore_errors=True)
            for file in (samples, moments, report, own):
                file.unlink(missing_ok=True)


def sample_of(run, scenario):
    origin = run.moment("start").time
    # What comes before is the loader's, what comes after is a process that ends.
    seen = slice(run.sample_at("start"), run.sample_at("end") + 1)
    times = [max(0.0, time - origin) for time in run.times[seen]]
    sample = {
        "peak": run.peak,
        "mean": run.resident_time() / run.duration(),
        "resident_time": run.resident_time(),
        "end": run.at("end"),
        "virtual": run.largest_virtual(),
        "duration": run.duration(),
        "cpu": run.cpu,
        "system": run.used("system"),
        "faults": run.used("faults"),
        "calls": run.used("calls"),
        "scenario": {figure.label: figure.read(run) for figure in scenario.figures},
        "curves": {
            "resident": rounded(thin(times, run.resident[seen], CURVE)),
            "virtual": rounded(thin(times, run.virtual[seen], CURVE)) if scenario.virtual else [],
            "live": rounded(thin([time - origin for time, _ in run.live], [value + run.at("start") for _, value in run.live], CURVE)) if run.live else [],
            "moments": rounded([(run.moment(name).time - origin, run.at(name)) for name in scenario.moments]),
        },
    }
    if scenario.line:
        sample["line"] = run.figures[scenario.line[1]] / MIB + run.at("start")
    return sample


def rounded(pairs):
    return [[round(time, 3), round(value, 3)] for time, value in pairs]
