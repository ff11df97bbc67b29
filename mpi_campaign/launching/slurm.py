"""Slurm on the nodes of a cluster in a box: munged and slurmctld on the head node, a slurmd on each other node.

All its files are in COMMON_FOLDER, which is in memory and exists on the nodes only: keys, logs and state end with them.
Slurm's own words for its settings: slurm.conf(5). docs/cluster.md says what each of them is for.
"""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpi_campaign.children import environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.launching import node_agent
from mpi_campaign.launching.node_agent import Node
from mpi_campaign.launching.nodes import COMMON_FOLDER, Layout, NodesError

SETTINGS = COMMON_FOLDER / "slurm.conf"
LOGS = COMMON_FOLDER / "log"
MUNGE = COMMON_FOLDER / "munge"  # for the user alone
MUNGE_KEY = MUNGE / "key"
MUNGE_SOCKET = COMMON_FOLDER / "socket" / "munge"
MUNGE_KEY_BYTES = 128
SPOOL = Path("/run/slurmd")  # of each node

PROGRAMS = ("munged", "slurmctld", "slurmd", "sinfo", "sbatch")
PACKAGES = "slurmctld slurmd slurm-client munge slurm-wlm-basic-plugins"
SYSTEM_FOLDERS = ("/usr/sbin", "/sbin", "/usr/local/sbin")  # of daemons; a user's PATH may lack them

START_SECONDS = 20.0
ASKING_SECONDS = 5.0
POLL_SECONDS = 0.1


def lacking() -> list[str]:
    """The programs of Slurm and MUNGE that are not installed."""
    return [name for name in PROGRAMS if _path_of(name) is None]


def _path_of(name: str) -> str | None:
    folders = [os.environ.get("PATH") or os.defpath, *SYSTEM_FOLDERS]
    return shutil.which(name, path=os.pathsep.join(folders))


def find() -> Mapping[str, str]:
    """The path of each of PROGRAMS. Raises CampaignError that says what is lacking, and what to install."""
    missing = lacking()
    if missing:
        raise CampaignError(f"--slurm needs {', '.join(missing)}: install them (Debian, Ubuntu: {PACKAGES})")
    return {name: str(_path_of(name)) for name in PROGRAMS}


def settings(hosts: Sequence[str], cpus: int, memory_mebibytes: int, user: str) -> str:
    """The text of slurm.conf.

    hosts: the head node, then the others.  cpus, memory_mebibytes: of each of the others.  user: who runs the daemons.
    """
    head, *others = hosts
    values = {
        "ClusterName": "box",
        "SlurmctldHost": head,
        "SlurmUser": user,
        "SlurmdUser": user,
        # Who is who.
        "AuthType": "auth/munge",
        "CryptoType": "crypto/munge",
        "AuthInfo": f"socket={MUNGE_SOCKET}",
        # Folders: slurmctld's on the head node; slurmd's and PMIx's in each node's own /run and /tmp.
        "StateSaveLocation": COMMON_FOLDER / "state",
        "SlurmdSpoolDir": SPOOL,
        "TmpFS": "/tmp",
        "SlurmctldPidFile": "/run/slurmctld.pid",
        "SlurmdPidFile": "/run/slurmd.pid",
        # Namespaces are no machines: no control groups, no binding, the processor numbers of the file.
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SlurmdParameters": "config_overrides",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "SwitchType": "switch/none",
        "MpiDefault": "none",
        "JobAcctGatherType": "jobacct_gather/none",
        "AccountingStorageType": "accounting_storage/none",
        # A node that was down comes back by itself. A job whose node is lost has failed, and does not run again.
        "ReturnToService": 2,
        "JobRequeue": 0,
        "SlurmctldTimeout": 10,
        "SlurmdTimeout": 10,
        "InactiveLimit": 0,
        "KillWait": 5,
        "MinJobAge": 3600,
    }
    lines = [f"{name}={value}" for name, value in values.items()]
    lines.append(f"NodeName={','.join(others)} CPUs={cpus} RealMemory={memory_mebibytes} State=UNKNOWN")
    lines.append("PartitionName=cpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Daemon:
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


def _on(node: Node) -> None:
    """Between fork and exec: enter a node, with all signals as a daemon expects them."""
    node_agent.enter(node)
    SPOOL.mkdir(exist_ok=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _environment() -> dict[str, str]:
    return environ.built(environ.LAUNCH, {"SLURM_CONF": str(SETTINGS), "LC_ALL": "C.UTF-8"})


def _start(name: str, words: Sequence[str], node: Node) -> _Daemon:
    """Start a daemon on a node, in a session of its own: a terminal's Ctrl-C does not reach it. Raises NodesError."""
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
                env=_environment(),
                start_new_session=True,
                preexec_fn=lambda: _on(node),  # noqa: PLW1509
            )
    except subprocess.SubprocessError as error:
        raise NodesError(f"{name} cannot enter its node") from error
    return _Daemon(name, process, log)


def start(programs: Mapping[str, str], layout: Layout, nodes: Sequence[Node]) -> None:
    """Write the settings, start all daemons, and wait until all nodes are idle.

    programs: the path of each of PROGRAMS.  nodes: the head node, then the others.  Raises NodesError with the last
    words of a daemon where the nodes are not idle within START_SECONDS.
    """
    head, *others = nodes
    _write_files(layout)
    munged = _start(
        "munged",
        [
            programs["munged"], "--foreground", f"--key-file={MUNGE_KEY}", f"--socket={MUNGE_SOCKET}",
            f"--pid-file={MUNGE / 'pid'}", f"--seed-file={MUNGE / 'seed'}",
        ],
        head,
    )  # fmt: skip
    deadline = time.monotonic() + START_SECONDS
    while not MUNGE_SOCKET.exists():
        munged.check()
        if time.monotonic() > deadline:
            raise NodesError(f"munged is not ready within {START_SECONDS:g} s: {munged.last_words()}")
        time.sleep(POLL_SECONDS / 10)
    controller = _start("slurmctld", [programs["slurmctld"], "-D", "-i"], head)
    of_nodes = {
        node.name: _start(f"slurmd on {node.name}", [programs["slurmd"], "-D", "-N", node.name], node)
        for node in others
    }
    daemons = [munged, controller, *of_nodes.values()]
    while True:
        state_by_node = _states(programs["sinfo"], head)
        busy = [name for name in of_nodes if state_by_node.get(name) != "idle"]
        if not busy:
            return
        for daemon in daemons:
            daemon.check()
        if time.monotonic() > deadline:
            guilty = of_nodes[busy[0]] if state_by_node else controller
            state = f"is {state_by_node[busy[0]]}" if busy[0] in state_by_node else "is unknown to slurmctld"
            raise NodesError(
                f"{busy[0]} {state} {START_SECONDS:g} s after its start: {guilty.name}: {guilty.last_words()}"
            )
        time.sleep(POLL_SECONDS)


def _states(sinfo: str, head: Node) -> dict[str, str]:
    """The state of each node that slurmctld knows, such as `idle`; empty where it does not answer."""
    words = [sinfo, "--noheader", "--Node", "--format=%N %T"]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            cwd="/",
            env=_environment(),
            timeout=ASKING_SECONDS,
            check=False,
            preexec_fn=lambda: _on(head),
        )
    except subprocess.TimeoutExpired:
        return {}
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if len(line.split()) == 2)


def _write_files(layout: Layout) -> None:
    """Make the folders, the key and slurm.conf."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError as error:
        raise NodesError(f"Slurm needs a user with a name: number {os.getuid()} has none on this machine") from error
    for folder in (LOGS, MUNGE_SOCKET.parent, COMMON_FOLDER / "state"):
        folder.mkdir(mode=0o755)
    MUNGE.mkdir(mode=0o700)
    with os.fdopen(os.open(MUNGE_KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as key:
        key.write(secrets.token_bytes(MUNGE_KEY_BYTES))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 // layout.count
    SETTINGS.write_text(settings(layout.hosts, len(layout.processors()[-1]), memory, user))
    SETTINGS.chmod(0o644)
