"""Standard input, output and error of a process: always open, and without a traceback where writing fails."""

import contextlib
import os
import sys
from typing import TextIO

DESCRIPTORS = ("stdin", "stdout", "stderr")


def open_closed() -> None:
    """Open /dev/null as each standard stream that a shell's `<&-`, `>&-` or `2>&-` closed.

    Otherwise the next file that is opened would get the stream's descriptor.
    """
    for descriptor, name in enumerate(DESCRIPTORS):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, "w" if descriptor else "r", closefd=False))  # noqa: SIM115


def silence(stream: TextIO) -> None:
    """Discard all that is written to the stream from now on, and what is still in its buffer."""
    with contextlib.suppress(OSError, ValueError):  # writing to a stream without a descriptor does not fail
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, stream.fileno())
        os.close(null_device)


def complain(text: str) -> None:
    """Write a line to standard error. Where that fails, standard error is silenced."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        silence(sys.stderr)


def output_trouble() -> OSError | None:
    """Flush standard output. Returns the error, after which standard output is silenced; None where there is none."""
    try:
        sys.stdout.flush()
    except OSError as error:
        silence(sys.stdout)
        return error
    return None
