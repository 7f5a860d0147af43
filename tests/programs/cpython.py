"""Runs the modules of CPython's test package named as arguments; prints the outcome of every test, sorted.

The package's own runner writes to the output that the tests' threads write to as well: its lines mix.
"""

import os
import sys
import unittest

from test import support


class Outcomes(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.lines = []

    def note(self, outcome, test, why=""):
        self.lines.append(f"{outcome:8} {test.id()}")
        if why:
            sys.stderr.write(f"{outcome}: {test.id()}\n{why}\n")

    def addSuccess(self, test):
        self.note("ok", test)

    def addFailure(self, test, err):
        self.note("failed", test, self._exc_info_to_string(err, test))

    def addError(self, test, err):
        self.note("error", test, self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        self.note("skipped", test)

    def addExpectedFailure(self, test, err):
        self.note("expected", test)

    def addUnexpectedSuccess(self, test):
        self.note("surprise", test)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note("failed", subtest, self._exc_info_to_string(err, test))


support.use_resources = []
result = Outcomes()
printed = os.dup(1)
os.dup2(2, 1)
unittest.defaultTestLoader.loadTestsFromNames("test." + name for name in sys.argv[1:]).run(result)
os.write(printed, ("\n".join(sorted(result.lines)) + "\n").encode())
