"""What is being done, how far it is, and how long it still takes."""

import sys
import time


def span(seconds):
    """Seconds as a person says them."""
    seconds = round(seconds)
    if seconds < 100:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"


class Progress:
    """One line that moves on a terminal; elsewhere a line now and then."""

    INTERVAL = 20

    def __init__(self, stream=sys.stderr):
        self.stream = stream
        self.moving = stream.isatty()
        self.shown = time.monotonic()
        self.plan(0)

    def plan(self, steps, work=None):
        """As many steps are ahead, and so much work in some unit, if they are not all of a size; those before are forgotten."""
        self.begin = time.monotonic()
        self.steps, self.done = steps, 0
        self.work, self.worked = work or steps, 0

    def step(self, text, work=1):
        """Says what begins now, and how much work it is."""
        now = time.monotonic()
        line = f"{self.done + 1}/{self.steps}  {text}" if self.steps else text
        if 0 < self.done < self.steps:
            line += f"  ({span((now - self.begin) / self.worked * (self.work - self.worked))} left)"
        if self.moving:
            print(f"\r\033[K{line}", end="", file=self.stream, flush=True)
        elif now - self.shown >= self.INTERVAL:
            print(line, file=self.stream, flush=True)
            self.shown = now
        self.done += 1
        self.worked += work

    def clear(self):
        if self.moving:
            print("\r\033[K", end="", file=self.stream, flush=True)
