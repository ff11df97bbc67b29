"""Signals that end a process of ours, unless it was started with them ignored.

`nohup`, a shell's `trap '' TERM` and its `&` start a command that ignores a signal, and all that the command starts
ignores it too. A handler would undo that.
"""

import signal
from collections.abc import Callable, Iterable
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# What processes of ours send each other to end, and ask the kernel for when their parent dies. Nobody ignores it: each
# of them handles it whatever it was started with.
END = signal.SIGUSR1

Handler = Callable[[int, FrameType | None], object] | signal.Handlers
Before = Callable[[int, FrameType | None], object] | int | None


def is_ignored(number: int) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN


def handle(handler: Handler, numbers: Iterable[int] = ENDING) -> dict[int, Before]:
    """Install a handler of these signals, except for those that are ignored. Returns the handlers before, by number."""
    return {number: signal.signal(number, handler) for number in numbers if not is_ignored(number)}


def keep_ignored() -> None:
    """Keep ignored ENDING signals from all that this process starts, also from programs that install a handler.

    ReFrame and MPI launchers do. A signal that is blocked reaches no handler.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, filter(is_ignored, ENDING))


def ending_that_is_heard() -> signal.Signals | None:
    """The first of ENDING that what this process starts does not ignore; None where it ignores all."""
    return next((number for number in ENDING if not is_ignored(number)), None)


def for_orphans() -> signal.Signals:
    """What ends a child when its parent has died: SIGTERM, or SIGKILL where the child ignores that."""
    return signal.SIGKILL if is_ignored(signal.SIGTERM) else signal.SIGTERM
