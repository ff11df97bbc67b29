"""Run a command, and end every process that it started when the command ends or when the guard's parent dies.

    python -m mpi_campaign.processes.guard [AFTERWARDS ...] PARENT -- COMMAND ...

MPI launchers put their ranks into sessions and process groups of their own, so that killing a group is not enough. The
guard becomes the kernel's "child subreaper": every orphan below it becomes its own child, and is killed by pid. It asks
the kernel for a signal when its parent dies, so that even `kill -9` of the campaign ends the ranks.

On a signal of `signals.ENDING`, or `signals.END`, the guard interrupts the command, waits GRACE_SECONDS so that it can
write its results, then kills it. A signal that was ignored when the guard started is ignored by every process below it;
only `signals.END` is never ignored while the command runs.

When all of them have ended, and COMMAND failed or the guard had to kill a process, it runs the command AFTERWARDS,
which removes what killed processes have left. The last word of that command is how many seconds ago COMMAND began. No
signal ends it.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from mpi_campaign.processes import signals

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 8.0
SWEEPS = 200
QUIET_LOOKS = 5
SWEEP_SECONDS = 0.02
AFTERWARDS_SECONDS = 30.0
"""How long the command AFTERWARDS may take."""


class Stop(Exception):
    """The guard was told to end."""


def adopt_orphans() -> None:
    """Make this process the parent of every orphan among its descendants (Linux)."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(root: int) -> set[int]:
    """Pids of all living processes below `root`, zombies not counted."""
    children: dict[int, list[int]] = {}
    zombies: set[int] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name stands in parentheses and may hold any character. Behind the last parenthesis: state ppid ...
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # the process ended meanwhile
        children.setdefault(int(fields[1]), []).append(int(entry.name))
        if fields[0] == "Z":
            zombies.add(int(entry.name))

    def below(pid: int) -> Iterator[int]:
        for child in children.get(pid, []):
            yield child
            yield from below(child)  # below a zombie too: the kernel may not have passed on its children yet

    return set(below(root)) - zombies


def sweep() -> bool:
    """Kill all processes below this one, until QUIET_LOOKS readings of /proc in a row show none. Returns whether there
    was any. A single reading may miss a process: /proc is read entry by entry while processes change their parent."""
    quiet, found = 0, False
    for _ in range(SWEEPS):
        living = descendants(os.getpid())
        found = found or bool(living)
        quiet = 0 if living else quiet + 1
        if quiet == QUIET_LOOKS:
            break
        for pid in living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        reap()
        time.sleep(SWEEP_SECONDS)
    reap()
    return found


def reap() -> None:
    """Collect the exit statuses of adopted processes."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main(command: list[str], parent: int, afterwards: Sequence[str] = ()) -> int:
    """Run the command. Returns its exit code, or 128 + the number of the signal that ended it.  parent: pid of the
    process that started the guard.  afterwards: AFTERWARDS."""
    prctl = ctypes.CDLL(None).prctl
    adopt_orphans()
    prctl(PR_SET_PDEATHSIG, signals.END, 0, 0, 0)
    if os.getppid() != parent:  # the parent died before the kernel was asked for a signal
        return 1

    def stop(_number: int, _frame: FrameType | None) -> None:
        for number in (*signals.ENDING, signals.END):
            signal.signal(number, signal.SIG_IGN)
        raise Stop

    interrupting = next((number for number in signals.INTERRUPTING if not signals.is_ignored(number)), None)
    signals.keep_ignored()

    began = time.monotonic()
    # This process has one thread, so that code between fork and exec is safe.
    child = subprocess.Popen(command, preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))  # noqa: PLW1509
    try:
        signals.handle(stop)
        signal.signal(signals.END, stop)
        child.wait()  # sleeps, so that it takes no CPU time from the measurement
    except Stop:
        if interrupting is not None:
            child.send_signal(interrupting)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(GRACE_SECONDS)
        child.kill()
    status = child.wait()
    for number in (*signals.ENDING, signals.END):  # what is left to do ends by itself
        signal.signal(number, signal.SIG_IGN)
    killed = sweep()
    if afterwards and (killed or status != 0):  # else nothing was left
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            words = [*afterwards, f"{time.monotonic() - began:.1f}"]
            subprocess.run(words, stdin=subprocess.DEVNULL, timeout=AFTERWARDS_SECONDS, check=False)
        sweep()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    separator = sys.argv.index("--")
    *first, number = sys.argv[1:separator]
    sys.exit(main(sys.argv[separator + 1 :], int(number), first))
