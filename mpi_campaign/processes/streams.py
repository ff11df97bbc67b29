"""Standard input, output and error of a process: there from the beginning, and no traceback where they fail."""

import contextlib
import os
import sys
from typing import TextIO

DESCRIPTORS = ("stdin", "stdout", "stderr")


def open_closed() -> None:
    """Put /dev/null where a shell's `<&-`, `>&-` or `2>&-` left nothing: the next file to be opened would be there."""
    for descriptor, name in enumerate(DESCRIPTORS):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, "w" if descriptor else "r", closefd=False))  # noqa: SIM115


def silence(stream: TextIO) -> None:
    """From now on, what is written there goes nowhere, also what it still holds when this process ends."""
    with contextlib.suppress(OSError, ValueError):  # one that has no descriptor has nobody to fail
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def complain(text: str) -> None:
    """A line on standard error; nothing where it cannot be written."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        silence(sys.stderr)


def output_trouble() -> OSError | None:
    """Why what was printed does not arrive; None where it does. From then on, standard output goes nowhere."""
    try:
        sys.stdout.flush()
    except OSError as error:
        silence(sys.stdout)
        return error
    return None
