"""Daemons and commands on the nodes of a cluster in a box, which end with it."""

import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpi_campaign.children import environ
from mpi_campaign.launching import node_agent
from mpi_campaign.launching.node_agent import COMMON_FOLDER, Node
from mpi_campaign.launching.nodes import NodesError

LOGS = COMMON_FOLDER / "log"
SPOOL = Path("/run/slurmd")  # of each node

ASKING_SECONDS = 5.0
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Daemon:
    """A daemon that was started: its name in messages, its process, and the file that has all it says."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def last_words(self) -> str:
        """Its last error, else its last line."""
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if "fatal" in line.lower() or "error" in line.lower()]
        return " ".join((errors or lines or ["it said nothing"])[-1].split())

    def check(self) -> None:
        """Raises NodesError where it has ended."""
        code = self.process.poll()
        if code is not None:
            raise NodesError(f"{self.name} ended with {code}: {self.last_words()}")


@dataclass(frozen=True)
class On:
    """A node, and the variables that daemons and commands get there beside the usual ones."""

    node: Node
    variables: Mapping[str, str]

    def _environment(self) -> dict[str, str]:
        return environ.built(environ.LAUNCH, self.variables, {"LC_ALL": "C.UTF-8"})

    def _enter(self) -> None:
        """Between fork and exec: enter the node, with all signals as a daemon expects them."""
        node_agent.enter(self.node)
        SPOOL.mkdir(exist_ok=True)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def start(self, name: str, words: Sequence[str]) -> Daemon:
        """Start a daemon in a session of its own: a terminal's Ctrl-C does not reach it. Raises NodesError."""
        log = LOGS / name.replace(" on ", "-")
        try:
            with log.open("wb") as output:
                # This process has one thread, so that code between fork and exec is safe.
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd="/",
                    env=self._environment(),
                    start_new_session=True,
                    preexec_fn=self._enter,  # noqa: PLW1509
                )
        except subprocess.SubprocessError as error:
            raise NodesError(f"{name} cannot enter its node") from error
        return Daemon(name, process, log)

    def ask(self, *words: str, seconds: float = ASKING_SECONDS) -> subprocess.CompletedProcess[str]:
        """Run a command to its end. One that takes too long has exit code 124."""
        try:
            return subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                cwd="/",
                env=self._environment(),
                timeout=seconds,
                check=False,
                preexec_fn=self._enter,
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(words, 124, "", f"no end within {seconds:g} s")


def wait_until(ready: Path | Sequence[str], on: On, daemon: Daemon, seconds: float) -> None:
    """Wait until a file exists, or until a command ends well. Raises NodesError with the daemon's last words."""
    deadline = time.monotonic() + seconds
    while not (ready.exists() if isinstance(ready, Path) else on.ask(*ready).returncode == 0):
        daemon.check()
        if time.monotonic() > deadline:
            raise NodesError(f"{daemon.name} is not ready within {seconds:g} s: {daemon.last_words()}")
        time.sleep(POLL_SECONDS / 10 if isinstance(ready, Path) else POLL_SECONDS)
