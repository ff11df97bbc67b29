"""Standard input, output and error of a process: always open, without a traceback where writing fails, and without
control characters of names that come from anywhere."""

import contextlib
import io
import json
import os
import re
import sys
from typing import TextIO

DESCRIPTORS = ("stdin", "stdout", "stderr")
_UNSEEN = re.compile(r"[^\n\t -~\w]")
"""Characters among which those are that nobody sees."""


class Visible(io.TextIOWrapper):
    """A stream on which characters that steer a terminal, or that nobody sees, are written as JSON escapes them. So a
    text shows them, and JSON says the same as before."""

    def write(self, text: str) -> int:
        return super().write(
            _UNSEEN.sub(lambda unseen: unseen[0] if unseen[0].isprintable() else json.dumps(unseen[0])[1:-1], text)
        )

    def steer(self, text: str) -> int:
        """Write characters that steer the terminal."""
        return super().write(text)


def make_visible() -> None:
    """Make standard output and error `Visible`."""
    for name in DESCRIPTORS[1:]:
        stream = getattr(sys, name)
        settings = {key: getattr(stream, key) for key in ("encoding", "errors", "line_buffering")}
        setattr(sys, name, Visible(stream.detach(), **settings))


def open_closed() -> None:
    """Open /dev/null as each standard stream that a shell's `<&-`, `>&-` or `2>&-` closed. Otherwise the next file that
    is opened would get the stream's descriptor."""
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
