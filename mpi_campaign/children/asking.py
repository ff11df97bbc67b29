"""Ask another program something: with an environment that is built, a time limit, and no trust in what it prints."""

import contextlib
import os
import re
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
    def not_started(self) -> str:
        """Why the program does not start here, or does not end, as words that follow its name; empty where it does."""
        if lacking := LACKS.search(self.text):
            return f"does not start ({lacking[0].strip()}); no folder of LD_LIBRARY_PATH in this shell helps"
        return self.trouble if (self.exit_code or 0) >= 0 else f"is ended by signal {-(self.exit_code or 0)}"

    @property
    def text(self) -> str:
        """Standard output and standard error."""
        return self.stdout + self.stderr

    @property
    def why(self) -> str:
        """Why it did not end well: the trouble, else the last line that it wrote, else the exit code."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return self.trouble or (lines or [f"exit code {self.exit_code}"])[-1]


# The loader's words about a shared library that it does not find, or finds in another version; the last ones are ldd's.
LACKS = re.compile(
    r"[^\n]*(?:error while loading shared libraries|cannot open shared object file|"
    r"version [`'][^'\n]*' not found \(required by|=> not found)[^\n]*"
)


def ask(
    words: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    seconds: float = USUAL_SECONDS,
    cwd: Path | None = None,
) -> Answer:
    """Run a program and wait for its end. After `seconds` it is killed, with all that it started.

    A program that lacks a shared library is run again with LD_LIBRARY_PATH of this shell. If that helps, the folders
    that it needs are let in, and it has them from then on.

    env: the whole environment of the program; by default that of a launch. The program has no standard input. An
    interrupt of this process ends it too.
    """
    environment = dict(environ.built(environ.LAUNCH) if env is None else env)

    def run(folders: Sequence[str]) -> Answer:
        own = environment.get(environ.LIBRARIES, "")
        libraries = {environ.LIBRARIES: ":".join(filter(None, (own, *folders)))} if folders else {}
        return _run(words, {**environment, **libraries}, seconds, cwd)

    answer = run(())
    folders = [name for name in os.environ.get(environ.LIBRARIES, "").split(":") if name]
    if not (folders and LACKS.search(answer.text)) or LACKS.search((helped := run(folders)).text):
        return answer
    for folder in list(folders):
        rest = [name for name in folders if name != folder]
        if not LACKS.search(run(rest).text):
            folders = rest
    environ.need(folders)
    return helped


def _run(words: Sequence[str | Path], env: Mapping[str, str], seconds: float, cwd: Path | None) -> Answer:
    try:
        process = subprocess.Popen(
            [str(word) for word in words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=env,
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
