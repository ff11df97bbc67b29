"""Exit codes of commands, and the error that ends a command with one line for a person."""

import contextlib
import errno
import os
import resource
from pathlib import Path

from mpi_campaign import files

EXIT_GOOD = 0
EXIT_FAILED = 1
EXIT_WRONG_USE = 2
EXIT_INTERRUPTED = 130


class CampaignError(Exception):
    """Wrong use, or nothing could be run. The message is one line: what is wrong, the legal values, what to do."""

    exit_code = EXIT_WRONG_USE

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


_LIMITS = (
    ("RLIMIT_NPROC", "processes and threads", "-u", errno.EAGAIN, 0),
    ("RLIMIT_AS", "bytes of address space", "-v", errno.ENOMEM, 10**9),
    ("RLIMIT_DATA", "bytes of data", "-d", errno.ENOMEM, 10**9),
    ("RLIMIT_NOFILE", "open files", "-n", errno.EMFILE, 32),
    ("RLIMIT_FSIZE", "bytes in a file", "-f", errno.EFBIG, 10**7),
)
"""Limits: name, what it counts, option of ulimit, the error of what goes beyond, and the least that a run needs."""


def check_limits(*names: str) -> None:
    """Raises CampaignError where one of these limits, by default of all, is less than a run needs: libraries crash, or
    hang, and do not say why."""
    for name, what, option, _, least in _LIMITS:
        soft = resource.getrlimit(getattr(resource, name))[0]
        if soft != resource.RLIM_INFINITY and soft < least and name in (names or (name,)):
            raise CampaignError(f"{name} allows {soft} {what} (ulimit {option}), and {least} are needed: raise it")


def limited(number: int) -> str:
    """What an error of this number says, and the limit."""
    return explained(OSError(number, os.strerror(number)))


def explained(error: OSError) -> str:
    """What an error says and, where a limit can be the cause, the limit."""
    words = error.strerror or str(error)
    if error.errno in files.FULL and error.filename:
        with contextlib.suppress(OSError):
            words += files.no_inode(Path(os.fsdecode(error.filename)).parent)
    limits = limits_of(error.errno)
    if limits or error.errno not in {limit[3] for limit in _LIMITS}:
        return f"{words}: {limits}" if limits else words
    return f"{words}: no limit of this process is the cause; look at those of its container or job (cgroup)"


def limits_of(number: int | None) -> str:
    """The limits of this process of which an error can tell, with their values; empty where there are none."""
    lines = []
    for name, what, option, of_error, _ in _LIMITS:
        soft = resource.getrlimit(getattr(resource, name))[0]
        if of_error == number and soft != resource.RLIM_INFINITY:
            lines.append(f"{name} allows {soft} {what} (ulimit {option})")
    for folder in files.groups(Path("/"), "pids") if number == errno.EAGAIN else ():
        if (most := files.read(folder / "pids.max")).isdigit():
            lines.append(f"{folder}/pids.max allows {most}")
    return ", ".join(lines)
