"""Locks of the clone and of the archive: one process holds a lock, others wait, and are told which process that is.

The kernel's lock on the file decides. The text in the file only describes the holder, and may describe a process that
has ended.
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

from mpi_campaign import files
from mpi_campaign.errors import CampaignError
from mpi_campaign.processes.progress import Progress, duration
from postprocess.drawing.text import short

LOOK_SECONDS = 0.5
MOST_BYTES = 4096
LONGEST_COMMAND = 200
OPTIONS = {"lustre": "-o flock", "nfs": "-o local_lock=flock", "nfs4": "-o local_lock=flock"}
"""The option by which a kind of file system has locks."""


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock.  began: start of the process, in the kernel's clock ticks since boot.  since: when
    it took the lock, in seconds of the epoch."""

    pid: int
    began: str
    host: str
    command: str
    since: float

    def __str__(self) -> str:
        local_time = datetime.fromtimestamp(self.since).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        where = "" if self.host == platform.node() else f" on {short(self.host)}"
        return f"`{short(self.command, LONGEST_COMMAND)}`, process {self.pid}{where}, since {local_time}"


def _began(pid: int) -> str:
    """The start of a process, in clock ticks since boot; empty where there is no such process. Pid and start identify a
    process: the kernel gives the pid of an ended process to a later one."""
    fields = files.read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _this_process() -> Holder:
    words = list(sys.argv)
    if Path(words[0]).name == "__main__.py":
        words[0] = "./campaign"
    return Holder(os.getpid(), _began(os.getpid()), platform.node(), shlex.join(words)[:LONGEST_COMMAND], time.time())


def holder_of(lock: TextIO) -> Holder | None:
    """The holder that the lock's file describes. None where it describes none or cannot be read, or where the process
    has ended."""
    try:
        document = json.loads(os.pread(lock.fileno(), MOST_BYTES, 0).decode("utf-8", errors="replace"))
        holder = Holder(
            int(document["pid"]),
            str(document["began"]),
            str(document["host"]),
            str(document["command"]),
            float(document["since"]),
        )
        str(holder)  # raises where `since` is no time
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    has_ended = holder.host == platform.node() and _began(holder.pid) != holder.began
    return None if has_ended else holder


def open_lock(path: Path) -> TextIO:
    """Open the file of a lock, for writing as NFS requires, and keep its text. Raises OSError."""

    def without_emptying(name: str, _: int) -> int:
        return os.open(name, os.O_RDWR | os.O_CREAT, 0o666)

    return open(path, "r+", encoding="utf-8", opener=without_emptying)


def holder_in_parentheses(lock: TextIO) -> str:
    """A blank and, in parentheses, the holder of the lock; empty where the holder is not known."""
    holder = holder_of(lock)
    return f" ({holder})" if holder else ""


def take(lock: TextIO) -> bool:
    """Take the lock if no other process holds it. Returns whether this process holds it now. Raises CampaignError where
    the file system has no locks."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        mount, kind = files.file_system(Path(lock.name))
        raise CampaignError(
            f"{lock.name} cannot be locked ({error.strerror}): mount {mount} ({kind}) with "
            f"{OPTIONS.get(kind, 'locks')}, or use a clone or an archive (--output) on another file system"
        ) from error
    return True


def note_holder(lock: TextIO) -> None:
    """Write into the lock's file that this process holds the lock."""
    _write(lock, json.dumps(asdict(_this_process())))


def _write(lock: TextIO, text: str) -> None:
    with contextlib.suppress(OSError):  # the kernel's lock holds without the text too
        os.ftruncate(lock.fileno(), 0)
        os.pwrite(lock.fileno(), text.encode(), 0)


@contextmanager
def held(lock: TextIO, reason: str, say: Callable[[str], None]) -> Iterator[None]:
    """A context in which this process holds the lock. While it waits, it says who holds the lock and for how long.
    reason: why this process may have to wait, such as `another campaign of this clone is measuring`."""
    if not take(lock):
        _wait(lock, reason, say)
    note_holder(lock)
    try:
        yield
    finally:
        _write(lock, "")


def _wait(lock: TextIO, reason: str, say: Callable[[str], None]) -> None:
    """Wait until this process holds the lock."""
    began = time.monotonic()
    progress = Progress(0, sys.stderr)
    holder = holder_of(lock)
    say(f"{reason} ({holder or 'which one is not known'}): waiting until it has ended")
    while not take(lock):
        next_holder = holder_of(lock)
        if next_holder is not None and next_holder != holder:
            say(f"now it is {next_holder}")
            holder = next_holder
        holder_words = f"process {holder.pid}" if holder else "another process"
        progress.status(f"      still waiting for {holder_words}, {duration(time.monotonic() - began)}")
        time.sleep(LOOK_SECONDS)
    progress.status("")
