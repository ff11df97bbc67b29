"""Exit codes of commands, and the error that ends a command with one line for a person."""

import errno
import os
import resource

EXIT_GOOD = 0
EXIT_FAILED = 1
EXIT_WRONG_USE = 2
EXIT_INTERRUPTED = 130


class CampaignError(Exception):
    """Wrong use, or nothing could be run. The message is one line: what is wrong, the legal values, what to do."""

    exit_code = EXIT_WRONG_USE

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


_LIMITS = {
    errno.EAGAIN: ("RLIMIT_NPROC", "processes and threads", "-u"),
    errno.ENOMEM: ("RLIMIT_AS", "bytes of address space", "-v"),
    errno.EMFILE: ("RLIMIT_NOFILE", "open files", "-n"),
    errno.EFBIG: ("RLIMIT_FSIZE", "bytes in a file", "-f"),
}


def limited(number: int) -> str:
    """What an error of this number says, and the limit."""
    return explained(OSError(number, os.strerror(number)))


def explained(error: OSError) -> str:
    """What an error says and, where a limit of this process can be the cause, the limit."""
    name, what, option = _LIMITS.get(error.errno or 0, ("", "", ""))
    words = error.strerror or str(error)
    if not name:
        return words
    soft = resource.getrlimit(getattr(resource, name))[0]
    if soft != resource.RLIM_INFINITY:
        return f"{words}: {name} allows {soft} {what} (ulimit {option})"
    return f"{words}: no limit of this process ({name}) is the cause; look at those of its container or job (cgroup)"
