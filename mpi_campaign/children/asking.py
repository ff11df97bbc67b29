"""Ask another program something: with an environment that is built, a time limit, and no trust in what it prints."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mpi_campaign.children import environ
from mpi_campaign.errors import explained

USUAL_SECONDS = 20.0
MOST_BYTES = 64 * 2**20
# Time that a child's own children have to close its output after the child has ended.
CLOSING_SECONDS = 1.0


@dataclass(frozen=True)
class Answer:
    """The output of a program. Bytes that are no UTF-8 are replaced; of an endless output, the beginning is kept.

    exit_code: negative for a signal; None where the program could not be started or was ended.  trouble: the reason for
    that, as words that follow the program's name; empty otherwise.
    """

    exit_code: int | None
    stdout: str = ""
    stderr: str = ""
    trouble: str = ""

    @property
    def good(self) -> bool:
        return self.exit_code == 0

    @property
    def text(self) -> str:
        """Standard output and standard error."""
        return self.stdout + self.stderr


def ask(
    words: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    seconds: float = USUAL_SECONDS,
    cwd: Path | None = None,
) -> Answer:
    """Run a program and wait for its end. After `seconds` it is killed, with all that it started.

    env: the whole environment of the program; by default that of a launch. The program has no standard input. An
    interrupt of this process ends it too.
    """
    try:
        process = subprocess.Popen(
            [str(word) for word in words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=dict(environ.built(environ.LAUNCH) if env is None else env),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Answer(None, trouble=f"cannot be started: {explained(error) if isinstance(error, OSError) else error}")
    assert process.stdout is not None and process.stderr is not None
    streams = [_Stream(process.stdout), _Stream(process.stderr)]
    code: int | None = None
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(seconds)
        for stream in streams:
            stream.join(CLOSING_SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in streams:
        stream.join(CLOSING_SECONDS)
    trouble = "" if code is not None else f"does not end within {seconds:g} s"
    return Answer(code, streams[0].text, streams[1].text, trouble)


class _Stream(threading.Thread):
    """Reads one of a child's streams to its end, and keeps the beginning."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self.stream = stream
        self.kept = bytearray()
        self.start()

    def run(self) -> None:
        with self.stream:
            while chunk := self.stream.read1(2**16):  # type: ignore[attr-defined]
                self.kept += chunk[: MOST_BYTES - len(self.kept)]

    @property
    def text(self) -> str:
        return bytes(self.kept).decode(errors="replace")
