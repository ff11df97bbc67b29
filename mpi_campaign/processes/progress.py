"""Progress of a run, for a person: the step, the current case, n of m, the time left."""

import errno
import shutil
import sys
import time
from typing import TextIO

from mpi_campaign.processes import streams

NOBODY_READS = (errno.EPIPE, errno.EIO)
"""Errors of writing to a pipe without a reader, and to a terminal that is closed."""

LOG_INTERVAL_S = 300.0
"""A log gets a status line only after that many seconds without another line."""


def duration(seconds: float) -> str:
    """Seconds in words: 7 s, 2 min 10 s, 1 h 5 min."""
    rounded = max(0, round(seconds))
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60} min"


class Progress:
    """Steps and cases on a terminal, where the last line is rewritten, or in a log, where lines are only added."""

    def __init__(self, steps: int, stream: TextIO | None = None, *, log_interval_s: float = LOG_INTERVAL_S) -> None:
        self._log_interval_s = log_interval_s
        self._stream = stream or sys.stdout
        self.live = self._stream.isatty()
        self._steps = steps
        self._step = 0
        self._status_shown = False
        self.started = self._written = time.monotonic()

    def step(self, what: str) -> None:
        """Begin the next step."""
        self._step += 1
        self.line(f"[{self._step}/{self._steps}] {what}")

    def line(self, *lines: str) -> None:
        """Write lines that stay."""
        for text in lines:
            self._print(text + "\n")

    def detail(self, *lines: str) -> None:
        """Write lines about the current step."""
        self.line(*(f"      {text}" for text in lines))

    def status(self, text: str) -> None:
        """Show a line that the next line replaces. In a log it stays, and is written once in `log_interval_s`
        seconds only."""
        if self.live:
            self._print(text[: shutil.get_terminal_size().columns - 1])
            self._status_shown = True
        elif text and self.status_due:
            self.line(text)

    @property
    def status_due(self) -> bool:
        """Whether `status` would write a line now."""
        return self.live or time.monotonic() - self._written >= self._log_interval_s

    def _print(self, text: str) -> None:
        self._written = time.monotonic()
        try:
            if self._status_shown:
                getattr(self._stream, "steer", self._stream.write)("\r\033[K")
            self._stream.write(text)
            self._stream.flush()
        except OSError as error:
            if error.errno not in NOBODY_READS:
                raise
            streams.silence(self._stream)  # the measurement goes on without a reader
        self._status_shown = False


class Countdown:
    """The time left: the expected time of the remaining items, times measured over expected time of the finished ones,
    with what passed before each of them; a longer pause than the item itself, as in a queue, counts as that long.
    total: number of items.  total_seconds: expected time of all items together; 0: not known, all items count alike."""

    def __init__(self, total: int, total_seconds: float) -> None:
        self.total = total
        self.done = 0
        self._known = total_seconds > 0
        self._expected_left = total_seconds if self._known else float(total)
        self._current = self._expected_left / max(1, total)
        self._expected_done = 0.0
        self._began: float | None = None  # None: no item runs
        self._ended: float | None = None  # the item before
        self._spent = 0.0

    def begin(self, seconds: float = 0.0) -> None:
        """Begin the next item. seconds: its expected time; 0: the mean of the remaining items."""
        self._began = time.monotonic()
        self._current = seconds or self._expected_left / max(1, self.total - self.done)

    def end(self) -> float:
        """End the current item. Returns the seconds that it took."""
        taken = self._running
        pause = self._began - self._ended if self._began is not None and self._ended is not None else 0.0
        self._began, self._ended = None, time.monotonic()
        self._spent += taken + min(pause, taken)
        self._expected_done += self._current
        self._expected_left -= self._current
        self.done += 1
        self._current = self._expected_left / max(1, self.total - self.done)
        return taken

    def put_back(self, items: int, seconds: float) -> None:
        """Finished items are to be done again. seconds: their expected time."""
        self.done -= items
        self._expected_left += seconds if self._known else items

    @property
    def _running(self) -> float:
        """Seconds since the current item began; 0 where no item runs."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    @property
    def left(self) -> str:
        """The time left, in words."""
        if self.done == self.total:
            return "nothing left"
        if not self.done and not self._known:
            return "time left not known"
        pace = self._spent / self._expected_done if self.done else 1.0
        running = min(0.9 * pace * self._current, self._running)  # an item that is late has still a tenth to go
        return f"about {duration(pace * self._expected_left - running)} left"
