"""Run commands of a measurement: one measurement at a time in this clone, each command under the guard."""

import math
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from mpi_campaign import ROOT, STATE
from mpi_campaign.processes import guard, locks, signals

POLL_SECONDS = 0.5


@contextmanager
def alone(say: Callable[[str], None]) -> Iterator[None]:
    """A context in which no other process of this clone builds or measures. Waits until there is none.  say: is given
    one line about the process that is waited for."""
    STATE.mkdir(exist_ok=True)
    with (
        locks.open_lock(STATE / "measuring.lock") as lock,
        locks.held(lock, "another campaign of this clone is measuring", say),
    ):
        yield


@dataclass(frozen=True)
class Ended:
    """A command that has ended.  interrupted: Ctrl-C or SIGTERM ended it.  output: lines of standard output and
    standard error.  hung: it was ended because it took longer than its limit."""

    exit_code: int
    interrupted: bool
    output: list[str]
    hung: bool = False


def run(
    words: list[str],
    on_line: Callable[[str], None],
    on_tick: Callable[[], None],
    *,
    env: Mapping[str, str],
    cwd: Path = ROOT,
    poll_seconds: float = POLL_SECONDS,
    limit_seconds: float = math.inf,
    afterwards: Sequence[str] = (),
    on_interrupt: Callable[[], None] = lambda: None,
) -> Ended:
    """Run a command under the guard, and wait for its end.

    on_line: is called with each line of output.  on_tick: is called whenever `poll_seconds` pass without a line.
    env: the whole environment of the command.  limit_seconds: a command that takes longer is ended, as hung.
    afterwards: AFTERWARDS of the guard.  on_interrupt: is called when Ctrl-C or SIGTERM interrupts the command.

    Ctrl-C, SIGTERM, the limit, and an exception from a callback end the command: it is interrupted, all processes that
    it started are killed, and its files stay.
    """
    guard.adopt_orphans()
    process = subprocess.Popen(
        [sys.executable, "-m", "mpi_campaign.processes.guard", *afterwards, str(os.getpid()), "--", *words],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        env=dict(env),
    )
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line.rstrip("\n"))
        lines.put(None)

    deadline = time.monotonic() + limit_seconds
    interrupted = hung = False

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        on_interrupt()
        process.send_signal(signals.END)

    before = signals.handle(interrupt)
    threading.Thread(target=read, daemon=True).start()
    output: list[str] = []
    try:
        while True:
            try:
                line = lines.get(timeout=poll_seconds)
            except queue.Empty:
                if time.monotonic() > deadline and not (interrupted or hung):
                    hung = True
                    process.send_signal(signals.END)
                on_tick()
                continue
            if line is None:
                break
            output.append(line)
            on_line(line)
    except BaseException:
        process.send_signal(signals.END)  # a callback failed (a full disk, say): the command must not go on unwatched
        raise
    finally:
        exit_code = process.wait()
        guard.sweep()  # finds processes only where the guard itself was killed
        signals.restore(before)
    return Ended(exit_code, interrupted, output, hung)
