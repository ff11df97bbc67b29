"""Signals that end a process of this project, unless it was started with the signal ignored.

`nohup`, a shell's `trap '' TERM` and its `&` start a command that ignores a signal, and its children ignore the signal
too. A handler would end that, so that none is installed for an ignored signal.
"""

import signal
from collections.abc import Callable, Iterable
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

END = signal.SIGUSR1
"""The signal by which processes of this project end each other, and which the kernel sends them when their parent dies.
None of them ignores it: each installs a handler, even where it was started with the signal ignored."""

Handler = Callable[[int, FrameType | None], object] | signal.Handlers
Before = Callable[[int, FrameType | None], object] | int | None


def is_ignored(number: int) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN


def handle(handler: Handler, numbers: Iterable[int] = ENDING) -> dict[int, Before]:
    """Install a handler of these signals, except for ignored ones. Returns the previous handlers, by signal number."""
    return {number: signal.signal(number, handler) for number in numbers if not is_ignored(number)}


def keep_ignored() -> None:
    """Block the ignored ENDING signals in this process and in all that it starts.

    ReFrame and MPI launchers install handlers, also for signals that were ignored. A blocked signal reaches no handler.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, filter(is_ignored, ENDING))


def first_ending_not_ignored() -> signal.Signals | None:
    """The first ENDING signal that this process, and so its children, do not ignore; None where they ignore all."""
    return next((number for number in ENDING if not is_ignored(number)), None)


def for_orphans() -> signal.Signals:
    """The signal that a child gets when its parent has died: SIGTERM, or SIGKILL where the child ignores SIGTERM."""
    return signal.SIGKILL if is_ignored(signal.SIGTERM) else signal.SIGTERM
