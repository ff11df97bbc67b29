"""What a person sees while a run goes on: the step, what runs, n of m, time left."""

import errno
import shutil
import sys
import time
from typing import TextIO

from mpi_campaign.processes import streams

NOBODY_READS = (errno.EPIPE, errno.EIO)
"""A pipe without a reader; a terminal that is gone."""

LOG_INTERVAL_S = 300.0
"""In a log, a state that a terminal would show is written when nothing else was for that long."""


def duration(seconds: float) -> str:
    """7 s, 2 min 10 s, 1 h 5 min."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Progress:
    """Steps and cases on a terminal, where the last line is rewritten, or in a log, where lines are only added."""

    def __init__(self, steps: int, stream: TextIO | None = None) -> None:
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

    def line(self, text: str) -> None:
        """A line that stays."""
        self._print(text + "\n")

    def status(self, text: str) -> None:
        """A line that the next one replaces; in a log one that stays, where nothing was written for LOG_INTERVAL_S."""
        if self.live:
            self._print(text[: shutil.get_terminal_size().columns - 1])
            self._status_shown = True
        elif text and self.status_due:
            self.line(text)

    @property
    def status_due(self) -> bool:
        """Whether a status would be shown now."""
        return self.live or time.monotonic() - self._written >= LOG_INTERVAL_S

    def _print(self, text: str) -> None:
        self._written = time.monotonic()
        try:
            self._stream.write("\r\033[K" + text if self._status_shown else text)
            self._stream.flush()
        except OSError as error:
            if error.errno not in NOBODY_READS:
                raise
            streams.silence(self._stream)  # what is being measured goes on
        self._status_shown = False


class Countdown:
    """Time left, from how long finished items took against what was expected of them, and what is expected of the rest.

    total_seconds: what is expected of all items together; 0: not known, then all count alike.
    """

    def __init__(self, total: int, total_seconds: float) -> None:
        self.total = total
        self.done = 0
        self._known = total_seconds > 0
        self._expected_left = total_seconds if self._known else float(total)
        self._current = self._expected_left / max(1, total)
        self._expected_done = 0.0
        self._began: float | None = None  # none runs
        self._spent = 0.0

    def begin(self, seconds: float = 0.0) -> None:
        """The next item; seconds: what is expected of it, 0: as of any other."""
        self._began = time.monotonic()
        self._current = seconds or self._expected_left / max(1, self.total - self.done)

    def end(self) -> float:
        """Close the current item. Returns its seconds."""
        taken = self._running
        self._began = None
        self._spent += taken
        self._expected_done += self._current
        self._expected_left -= self._current
        self.done += 1
        self._current = self._expected_left / max(1, self.total - self.done)
        return taken

    @property
    def _running(self) -> float:
        """Seconds of the current item so far."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    @property
    def left(self) -> str:
        if self.done == self.total:
            return "nothing left"
        if not self.done and not self._known:
            return "time left not known"
        pace = self._spent / self._expected_done if self.done else 1.0
        running = min(0.9 * pace * self._current, self._running)  # late is not done
        return f"about {duration(pace * self._expected_left - running)} left"
