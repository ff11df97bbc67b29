"""Signals that end a process of this project, unless it was started with the signal ignored.

`nohup`, a shell's `trap '' TERM` and its `&` start a command that ignores a signal, and its children ignore the signal
too. A handler would make the signal count again, so none is installed for a signal that is ignored.
"""

import resource
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

INTERRUPTING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Those by which ReFrame and MPI launchers are interrupted; the others end them at once."""

ENDING = (
    *INTERRUPTING, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU, signal.SIGALRM, signal.SIGVTALRM,
    signal.SIGPROF, signal.SIGPWR, signal.SIGIO, signal.SIGABRT,
)  # fmt: skip
"""Those that end a process by default and that people, shells and batch systems send, as before a time limit."""

END = signal.SIGRTMAX
"""The signal by which processes of this project end each other, and which the kernel sends them when their parent dies.
Nobody else sends it. None of them ignores it: each installs a handler, even where it was started with it ignored."""

CPU_SECONDS = 5
"""So long before the limit of CPU time a process is told by SIGXCPU."""

Handler = Callable[[int, FrameType | None], object] | signal.Handlers
Before = Callable[[int, FrameType | None], object] | int | None


def is_ignored(number: int) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN


def handle(handler: Handler, numbers: Iterable[int] = ENDING) -> dict[int, Before]:
    """Install a handler of these signals, except for ignored ones. Returns the previous handlers, by signal number."""
    return {number: signal.signal(number, handler) for number in numbers if not is_ignored(number)}


@contextmanager
def ignored() -> Iterator[None]:
    """Ignore the ENDING signals for a while."""
    before = handle(signal.SIG_IGN)
    try:
        yield
    finally:
        restore(before)


def restore(before: Mapping[int, Before]) -> None:
    """Install the handlers again that `handle` returned."""
    for number, handler in before.items():
        signal.signal(number, handler)


def keep_ignored() -> None:
    """Block the ignored ENDING signals in this process and in all that it starts. ReFrame and MPI launchers install
    handlers, also for signals that were ignored. A blocked signal reaches no handler."""
    signal.pthread_sigmask(signal.SIG_BLOCK, filter(is_ignored, ENDING))


def for_orphans() -> signal.Signals:
    """The signal that a child gets when its parent has died: SIGTERM, or SIGKILL where the child ignores SIGTERM."""
    return signal.SIGKILL if is_ignored(signal.SIGTERM) else signal.SIGTERM


def usual() -> None:
    """Undo what the starter of this process did to signals; but what a person makes a command ignore stays ignored.
    Where SIGCHLD is ignored, as in some containers and batch systems, no exit code of a child is known."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    of_person = {*ENDING, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
    of_python = {signal.SIGPIPE, signal.SIGXFSZ}
    for number in filter(is_ignored, signal.valid_signals() - of_person - of_python):
        signal.signal(number, signal.SIG_DFL)
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    early = max(1, hard - CPU_SECONDS)
    if hard != resource.RLIM_INFINITY and not 0 <= soft <= early:  # where both are the same, SIGKILL comes alone
        resource.setrlimit(resource.RLIMIT_CPU, (early, hard))
