"""What can keep a lab from being run."""

# What makes the library, the programs of the labs and the toys.
BUILD = "tools/build release gcc librung.so rung labs"


class CannotRun(Exception):
    """The command line, or what is installed, does not allow it; the text says what to do."""


class Skipped(Exception):
    """The machine cannot run this measurement; the text says why."""


class ProgramFailed(Exception):
    """A lab program crashed, hung or reported an error."""
