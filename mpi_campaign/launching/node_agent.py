"""Enter a node of `mpi_campaign.launching.nodes`, and run a command there through a shell, as ssh does.

    node-agent HOST COMMAND...

Unlike ssh, it keeps the environment and the working directory, as launchers of batch systems do. It imports only the
standard library, because it starts once for every node of every launch.
"""

import ctypes
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CLONE_NEWTIME = 0x00000080
CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWNET = 0x40000000

NODES_VARIABLE = "MPI_CAMPAIGN_NODES"
EXIT_NO_CONNECTION = 255  # ssh's
SSH_OPTION_WITH_VALUE = re.compile(r"-[0-9A-Za-z]*[BbcDEeFIiJLlmOoPpQRSWw]")
NODE = re.compile(r"(node\d+)=([\d.]+)/(\d+)/(\d+)/([01])")


class AgentError(Exception):
    """A node cannot be entered; the message says why, in one line."""


@dataclass(frozen=True)
class Node:
    """A node.

    holder: pid of a process in the node's namespaces.  network: inode of its network namespace.  own_clock: whether it
    has a time namespace of its own.
    """

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


def main(words: Sequence[str]) -> int:
    """Enter the node and become the command. Returns an exit code only where that fails."""
    nodes = nodes_of(os.environ.get(NODES_VARIABLE, ""))
    names = (
        ", ".join(node.name for node in nodes) or "none: it works inside 'python -m mpi_campaign.launching.nodes' only"
    )
    host, *command = without_ssh_options(words) or [""]
    host = host.rpartition("@")[2]
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
