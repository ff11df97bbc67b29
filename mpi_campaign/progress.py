"""What a person sees while a run goes on: the step, what runs, n of m, time left."""

import os
import shutil
import sys
import time
from typing import TextIO


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
        self.started = time.monotonic()

    def step(self, what: str) -> None:
        """Begin the next step."""
        self._step += 1
        self.line(f"[{self._step}/{self._steps}] {what}")

    def line(self, text: str) -> None:
        """A line that stays."""
        self._print(text + "\n")

    def status(self, text: str) -> None:
        """A line that the next one replaces; nothing in a log."""
        if self.live:
            self._print(text[: shutil.get_terminal_size().columns - 1])
            self._status_shown = True

    def _print(self, text: str) -> None:
        try:
            self._stream.write("\r\033[K" + text if self._status_shown else text)
            self._stream.flush()
        except BrokenPipeError:  # nobody reads any more: what is being measured goes on
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        self._status_shown = False


class Countdown:
    """Time left, from how long each finished item took and how many are left."""

    def __init__(self, total: int, expected_seconds: float) -> None:
        self.total = total
        self.done = 0
        self._expected = expected_seconds
        self._began = time.monotonic()
        self._spent = 0.0

    def begin(self) -> None:
        self._began = time.monotonic()

    def end(self) -> float:
        """Close the current item. Returns its seconds."""
        taken = time.monotonic() - self._began
        self._spent += taken
        self.done += 1
        return taken

    @property
    def left(self) -> str:
        each = self._spent / self.done if self.done else self._expected
        running = min(0.9 * each, time.monotonic() - self._began)  # late is not done
        left = each * (self.total - self.done) - running
        if self.done == self.total:
            return "nothing left"
        return f"about {duration(left)} left" if each > 0 else "time left not known"
