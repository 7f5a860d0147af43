"""One run of one workload under one contender, through the launcher, whose size is in no figure."""

import os
import re
import shutil
import signal
import subprocess

from .contenders import clean_environment
from .errors import Failure

FIELDS = ("time", "cpu", "peak", "faults")


class Meter:
    def __init__(self, programs, timeout):
        self.programs = programs
        self.timeout = timeout
        self.printed = {}  # workload -> what every run of it must print

    def run(self, workload, contender, rest=None, counters=False):
        """The launcher's figures and the program's own, by name. With `rest` the program stays for so many seconds
        when all is freed; with `counters` Rung's are read, from every process of the job."""
        # The directory has the same name in each run, as compilers write it into what they make; runs that count
        # and rest go on beside each other and have one each.
        aside = rest is not None or counters
        where = workload.place / (f"aside-{contender.name.replace('/', '-')}" if aside else "run")
        where.mkdir()
        report, own = where.with_suffix(".report"), where.with_suffix(".figures")
        environment = clean_environment() | contender.environment | {"BENCH_FIGURES": str(own)}
        if rest is not None:
            environment["BENCH_REST"] = str(rest)
        preload = contender.library or workload.preload
        if counters:
            preload = f"{self.programs / 'counters.so'}:{preload}"
        try:
            printed, said, status = self.launch([str(report), preload, *workload.command], where, environment, workload, contender)
            figures, ended = self.read(report) if status == 0 else ({}, str(status))
            self.judge(workload, contender, ended, printed, said)
            return figures | self.read_own(own)
        finally:
            shutil.rmtree(where, ignore_errors=True)
            report.unlink(missing_ok=True)
            own.unlink(missing_ok=True)

    def launch(self, arguments, where, environment, workload, contender):
        child = subprocess.Popen([str(self.programs / "launch"), *arguments], cwd=where, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        try:
            printed, said = child.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            raise Failure(f"{workload.name} under {contender.name} took more than {self.timeout:g} s; --timeout allows more") from None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        return printed, said, child.returncode

    @staticmethod
    def read(report):
        *figures, ended = report.read_text().split()
        return dict(zip(FIELDS, map(float, figures))), ended

    @staticmethod
    def read_own(path):
        """Several processes of one job add their figures up."""
        figures = {}
        if path.exists():
            for name, value in (line.split() for line in path.read_text().splitlines()):
                figures[name] = figures.get(name, 0.0) + float(value)
        return figures

    def judge(self, workload, contender, ended, printed, said):
        """Raises unless the run counts: it succeeded, with the allocator it was meant to have, and the result all others have."""
        if ended != "0":
            how = f"signal {int(ended) - 1000}" if int(ended) >= 1000 else f"status {ended}"
            raise Failure(f"{workload.name} under {contender.name} ended with {how}; it said:\n{printed[-2000:]}{said[-2000:]}")
        refused = re.search(r"^.*cannot be preloaded.*$|^rung: RUNG_OPTIONS: .*$", said, re.M)
        if refused:
            raise Failure(f"{contender.name} is not what was asked for: {refused[0]}")
        expected = self.printed.setdefault(workload.name, printed)
        if printed != expected:
            raise Failure(f"{workload.name} printed something else under {contender.name}:\n{printed[:2000]}\ninstead of:\n{expected[:2000]}")
