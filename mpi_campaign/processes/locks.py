"""Locks of the clone and of the archive: one holds it, others wait and are told for whom.

The kernel's lock on the file decides. The text in the file only informs, and may be of somebody who is gone.
"""

import contextlib
import fcntl
import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO

from mpi_campaign.processes.progress import Progress, duration
from postprocess.drawing.text import short

LOOK_SECONDS = 0.5
MOST_BYTES = 4096
LONGEST_COMMAND = 200


@dataclass(frozen=True)
class Holder:
    """Who has a lock. began: when the process was started, in the kernel's clock ticks; since: seconds of the epoch."""

    pid: int
    began: str
    host: str
    command: str
    since: float

    def __str__(self) -> str:
        time_ = datetime.fromtimestamp(self.since).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        where = "" if self.host == platform.node() else f" on {short(self.host)}"
        return f"`{short(self.command, LONGEST_COMMAND)}`, process {self.pid}{where}, since {time_}"


def _began(pid: int) -> str:
    """When a process was started; empty where there is none. A number alone is given to another one later."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _this_process() -> Holder:
    words = list(sys.argv)
    if Path(words[0]).name == "__main__.py":
        words[0] = "./campaign"
    return Holder(os.getpid(), _began(os.getpid()), platform.node(), shlex.join(words)[:LONGEST_COMMAND], time.time())


def holder_of(lock: TextIO) -> Holder | None:
    """Who says in the file to hold it; None where nobody does, where it cannot be read, and where he is gone."""
    try:
        document = json.loads(os.pread(lock.fileno(), MOST_BYTES, 0).decode("utf-8", errors="replace"))
        holder = Holder(
            int(document["pid"]),
            str(document["began"]),
            str(document["host"]),
            str(document["command"]),
            float(document["since"]),
        )
        str(holder)  # a time that is none
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    gone = holder.host == platform.node() and _began(holder.pid) != holder.began
    return None if gone else holder


def open_lock(path: Path) -> TextIO:
    """A file to be locked; what is in it stays. NFS locks what is open for writing. Raises OSError."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+", encoding="utf-8")


def by(lock: TextIO) -> str:
    """Who holds it, in parentheses and after a blank; nothing where that is not known."""
    holder = holder_of(lock)
    return f" ({holder})" if holder else ""


def is_had(lock: TextIO) -> bool:
    """Whether this process could have it at once, and has it now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def note_holder(lock: TextIO) -> None:
    """Let the file say that this process has it."""
    _write(lock, json.dumps(asdict(_this_process())))


def _write(lock: TextIO, text: str) -> None:
    with contextlib.suppress(OSError):  # where it cannot be written, a lock is one all the same
        os.ftruncate(lock.fileno(), 0)
        os.pwrite(lock.fileno(), text.encode(), 0)


@contextmanager
def held(lock: TextIO, what: str, say: Callable[[str], None]) -> Iterator[None]:
    """Hold it; until it can be had, wait, say once who has it, and show on a terminal for how long.

    what: why there is something to wait for, such as `another campaign of this clone is measuring`.
    """
    if not is_had(lock):
        _wait(lock, what, say)
    note_holder(lock)
    try:
        yield
    finally:
        _write(lock, "")


def _wait(lock: TextIO, what: str, say: Callable[[str], None]) -> None:
    began = time.monotonic()
    shown = Progress(0, sys.stderr)
    holder = holder_of(lock)
    say(f"{what} ({holder or 'which one is not known'}): waiting until it has ended")
    while not is_had(lock):
        now = holder_of(lock)
        if now is not None and now != holder:
            say(f"now it is {now}")
            holder = now
        whom = f"process {holder.pid}" if holder else "another process"
        shown.status(f"      still waiting for {whom}, {duration(time.monotonic() - began)}")
        time.sleep(LOOK_SECONDS)
    shown.status("")
