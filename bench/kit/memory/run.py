"""One run seen from outside: memory over time, what the program said meanwhile, and the figures that follow."""

from bisect import bisect_right
from dataclasses import dataclass, field

from ..errors import Failure

MIB = 1024  # in KiB, which is what is sampled


@dataclass(frozen=True)
class Point:
    """What the program said, and what it had used by then."""

    kind: str  # "phase" or "moment"
    name: str
    time: float
    user: float
    system: float
    faults: int
    calls: int  # system calls for memory; below 0 where nobody counts them


@dataclass
class Run:
    """Times in seconds by the monotonic clock, memory in MiB. Samples are in order."""

    times: list
    virtual: list
    resident: list
    lazy: list  # pairs of a time and MiB
    points: list
    live: list  # pairs of a time and MiB
    peak: float  # the kernel's own figure, which misses nothing
    cpu: float
    figures: dict = field(default_factory=dict)  # the program's own

    def moment(self, name):
        for point in self.points:
            if point.kind == "moment" and point.name == name:
                return point
        raise Failure(f"the program never said '{name}': it and the harness are not of the same build")

    def sample_at(self, name):
        """The last sample before the moment, as the program does nothing just before it."""
        at = bisect_right(self.times, self.moment(name).time) - 1
        if at < 0:
            raise Failure(f"no sample was taken before '{name}': this machine is too busy to measure anything")
        return at

    def at(self, name):
        return self.resident[self.sample_at(name)]

    def above_start(self, name):
        return self.at(name) - self.at("start")

    def given_back(self, name):
        """Of what the run took at its peak, the share that is gone."""
        taken = self.peak - self.at("start")
        return (self.peak - self.at(name)) / taken if taken > 0 else 0.0

    def lazy_at(self, name):
        """None where the kernel does not tell."""
        return last_before(self.lazy, self.moment(name).time)

    def live_at(self, name):
        """None of a program that does not tell."""
        return last_before(self.live, self.moment(name).time)

    def span(self, phase):
        """The point at which a phase begins and the one at which it ends."""
        for begin, end in zip(self.points, self.points[1:]):
            if begin.kind == "phase" and begin.name == phase:
                return begin, end
        raise Failure(f"the program had no phase '{phase}': it and the harness are not of the same build")

    def length(self, phase):
        begin, end = self.span(phase)
        return end.time - begin.time

    def grown(self, phase, what):
        """How much `what` ("faults", "calls") grew in a phase; None where nobody counts it."""
        return difference(*self.span(phase), what)

    def per_second(self, phase, what):
        grown = self.grown(phase, what)
        return None if grown is None else grown / self.length(phase)

    def per_million(self, phase, what, operations):
        """Of the program's own figure `operations`."""
        grown = self.grown(phase, what)
        return None if grown is None else grown / self.figures[operations] * 1e6

    def used(self, what):
        """How much `what` grew from start to end; None where nobody counts it."""
        return difference(self.moment("start"), self.moment("end"), what)

    def largest_virtual(self):
        return max(self.virtual[self.sample_at("start") : self.sample_at("end") + 1])

    def duration(self):
        return self.moment("end").time - self.moment("start").time

    def resident_time(self):
        """MiB times seconds, from start to end."""
        return area(self.times, self.resident, self.moment("start").time, self.moment("end").time)

    def live_time(self):
        """The same of what is alive, for programs that tell."""
        return area([time for time, _ in self.live], [value for _, value in self.live], self.moment("start").time, self.moment("end").time)


def difference(begin, end, what):
    return None if getattr(begin, what) < 0 else getattr(end, what) - getattr(begin, what)


def last_before(pairs, time):
    before = [value for at, value in pairs if at <= time]
    return before[-1] if before else None


def area(times, values, begin, end):
    """Under the curve of a value that stays as it was last seen; nothing before the first time."""
    total = 0.0
    for at, (time, value) in enumerate(zip(times, values)):
        until = times[at + 1] if at + 1 < len(times) else end
        total += value * max(0.0, min(until, end) - max(time, begin))
    return total


def read_samples(text):
    """(times, virtual, resident, lazy) of the launcher's file; a line it was killed in the middle of does not count."""
    times, virtual, resident, lazy = [], [], [], []
    for line in text[: text.rfind("\n") + 1].splitlines():
        time, *values = line.split()
        times.append(int(time) / 1e9)
        virtual.append(int(values[0]) / MIB)
        resident.append(int(values[1]) / MIB)
        if len(values) > 2:
            lazy.append((times[-1], int(values[2]) / MIB))
    return times, virtual, resident, lazy


def read_moments(text):
    """(points, live) of what the program wrote."""
    points, live = [], []
    for line in text.splitlines():
        kind, *values = line.split()
        if kind == "live":
            live.append((int(values[1]) / 1e9, int(values[0]) / MIB**2))
        else:
            name, time, user, system, faults, calls = values
            points.append(Point(kind, name, int(time) / 1e9, int(user) / 1e6, int(system) / 1e6, int(faults), int(calls)))
    return points, live


def thin(times, values, count):
    """At most about `count` points that look the same: of each stretch the first value, the least and the largest."""
    if len(times) <= count:
        return list(zip(times, values))
    kept = []
    stretch = -(-len(times) * 3 // count)
    for at in range(0, len(times), stretch):
        members = range(at, min(at + stretch, len(times)))
        chosen = {at, min(members, key=values.__getitem__), max(members, key=values.__getitem__)}
        kept += [(times[one], values[one]) for one in sorted(chosen)]
    if kept[-1][0] != times[-1]:
        kept.append((times[-1], values[-1]))
    return kept
