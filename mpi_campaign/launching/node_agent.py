"""Run a command on a node through a shell, as ssh does.

    node-agent HOST COMMAND...

The node is one of `mpi_campaign.launching.nodes`, which this enters, or one of a job of a batch system, where a command
of the batch system starts the shell. Unlike ssh, this keeps the environment and the working directory. It
imports only the standard library, because it starts once for every node of every launch.
"""

import ctypes
import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

AGENT = Path(__file__).with_name("node-agent")
SHARED_MEMORY = Path("/dev/shm")
# Where there is a head node, each node has these folders of its own, with these options of their mounts; and all nodes
# have the common folder, which is in memory and ends with them.
OWN_FOLDERS = {Path("/tmp"): "mode=1777", Path("/run"): "mode=755"}
COMMON_FOLDER = Path("/run/cluster")

CLONE_NEWTIME = 0x00000080
CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWNET = 0x40000000

NODES_VARIABLE = "MPI_CAMPAIGN_NODES"
HEAD_VARIABLE = "MPI_CAMPAIGN_HEAD_NODE"
"""The name of the head node, where there is one."""
PYTHON_VARIABLE = "MPI_CAMPAIGN_NODES_PYTHON"
JOB_VARIABLE = "MPI_CAMPAIGN_JOB"
"""The job on whose nodes commands are started, as JSON. It has, of the batch system: `start`, `takes_words`, `programs`
as `schedulers.scheduler` explains them; of the job: `id`, the `variables` that the start needs, and the `hosts`, where
they are known by number."""

EXIT_NO_CONNECTION = 255  # ssh's
SSH_OPTION_WITH_VALUE = re.compile(r"-[0-9A-Za-z]*[BbcDEeFIiJLlmOoPpQRSWw]")
NODE = re.compile(r"(node\d+)=([\d.]+)/(\d+)/(\d+)/([01])")


class AgentError(Exception):
    """A node cannot be entered; the message says why, in one line."""


@dataclass(frozen=True)
class Node:
    """A node.  holder: pid of a process in the node's namespaces.  network: inode of its network namespace.  own_clock:
    whether it has a time namespace of its own."""

    name: str
    address: str
    holder: int
    network: int
    own_clock: bool

    def __str__(self) -> str:
        return f"{self.name}={self.address}/{self.holder}/{self.network}/{self.own_clock:d}"


def nodes_of(text: str) -> list[Node]:
    """The nodes in a value of NODES_VARIABLE. Words that describe no node are left out."""
    return [
        Node(match[1], match[2], int(match[3]), int(match[4]), match[5] == "1")
        for match in map(NODE.fullmatch, text.split(","))
        if match
    ]


def network_namespace() -> int:
    """The inode of this process's network namespace."""
    return Path("/proc/self/ns/net").stat().st_ino


def _set_namespaces(pid: int, flags: int) -> None:
    """Move this process into namespaces of another process. Raises OSError."""
    process = os.pidfd_open(pid)
    failed = ctypes.CDLL(None, use_errno=True).setns(process, flags) != 0
    number = ctypes.get_errno()
    os.close(process)
    if failed:
        raise OSError(number, os.strerror(number))


def enter(node: Node) -> None:
    """Move this process into the namespaces of a node, and onto the node's processors. Raises AgentError."""
    folder = Path.cwd()
    flags = CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS | (CLONE_NEWTIME if node.own_clock else 0)
    try:
        processors = os.sched_getaffinity(node.holder)
        _set_namespaces(node.holder, flags)
        os.sched_setaffinity(0, processors)
    except OSError as error:
        raise AgentError(f"{node.name} cannot be entered: {error.strerror}") from error
    if network_namespace() != node.network:
        raise AgentError(f"{node.name} is gone")
    try:
        os.chdir(folder)
    except OSError:
        os.chdir("/")
    os.environ["HOSTNAME"] = node.name


def without_ssh_options(words: Sequence[str]) -> list[str]:
    """HOST COMMAND..., without the options for ssh that a launcher puts before HOST."""
    remaining = list(words)
    while remaining and remaining[0].startswith("-"):
        option = remaining.pop(0)
        if SSH_OPTION_WITH_VALUE.fullmatch(option) and remaining:
            remaining.pop(0)
    return remaining


def job_command(job: str, host: str, command: str, variables: Mapping[str, str], folder: str) -> list[str]:
    """The words that run a shell command on a host of a job, in this folder, with these environment variables alone.
    job: a value of JOB_VARIABLE."""
    of_job = json.loads(job)
    assignments = [f"{name}={value}" for name, value in variables.items() if name not in of_job["variables"]]
    remote = f"cd {shlex.quote(folder)} && exec env -i {shlex.join(assignments)} sh -c {shlex.quote(command)}"
    hosts = list(of_job.get("hosts", ()))
    number = hosts.index(host) if host in hosts else ""
    start = [word.format(host=host, job=of_job["id"], number=number) for word in of_job["start"]]
    return [*start, "sh", "-c", remote] if of_job["takes_words"] else [*start, remote]


def _start_in_job(job: str, host: str, command: str) -> int:
    """Become the command on a host of a job. Returns an exit code only where that fails."""
    variables = dict(os.environ)
    of_job = json.loads(job)
    os.environ.update(of_job["variables"])
    if of_job["programs"]:
        os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}:{of_job['programs']}"
    words = job_command(job, host, command, variables, str(Path.cwd()))
    try:
        os.execvp(words[0], words)
    except OSError as error:
        print(f"node-agent: {words[0]}: {error.strerror}", file=sys.stderr)
    return EXIT_NO_CONNECTION


def main(words: Sequence[str]) -> int:
    """Become the command on the node. Returns an exit code only where that fails."""
    nodes = nodes_of(os.environ.get(NODES_VARIABLE, ""))
    names = (
        ", ".join(node.name for node in nodes) or "none: it works inside 'python -m mpi_campaign.launching.nodes' only"
    )
    host, *command = without_ssh_options(words) or [""]
    host = host.rpartition("@")[2]
    if (job := os.environ.get(JOB_VARIABLE)) and host and command:
        return _start_in_job(job, host, " ".join(command))
    node = next((node for node in nodes if host in {node.name, node.address}), None)
    if node is None or not command:
        print(f"node-agent: HOST COMMAND... are needed, not '{' '.join(words)}'; hosts: {names}", file=sys.stderr)
        return EXIT_NO_CONNECTION
    try:
        enter(node)
        os.execv("/bin/sh", ["sh", "-c", " ".join(command)])
    except (AgentError, OSError) as error:
        print(f"node-agent: {error}", file=sys.stderr)
    return EXIT_NO_CONNECTION


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
