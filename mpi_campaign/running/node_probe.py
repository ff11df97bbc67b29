"""A node as a process on it sees it: the program of probe jobs, and of the beginning of each job.

    python -m mpi_campaign.running.node_probe FOLDER

Writes FOLDER/nodes/HOST.json: the facts that a manifest has about a host, and a few more. The file of a node that does
not share the folder with the others is missing there.
"""

import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpi_campaign import files
from mpi_campaign.doctor import disturbances
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD
from mpi_campaign.libraries.placement import Numbers
from mpi_campaign.systems import nodes_in_hand
from mpi_campaign.systems.nodes_in_hand import InHand
from mpi_campaign.this_machine import host, machine
from postprocess.records import nodes

NODES = "nodes"
ROOT = Path("/")


@dataclass(frozen=True)
class Seen:
    """What the program wrote on a node.  host: as in a manifest; the others in words.  findings: `Finding`s of what
    disturbs measurements, as objects."""

    host: dict[str, Any]
    governor: str
    siblings: str
    c_library: str
    findings: list[dict[str, str]]

    @property
    def name(self) -> str:
        return str(self.host["name"])

    def as_facts(self) -> dict[str, Any]:
        """The node for a manifest: without the findings."""
        return {name: value for name, value in vars(self).items() if name != "findings"}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Seen":
        """What was written as JSON. Raises TypeError or KeyError for anything else."""
        seen = cls(**values)
        if not isinstance(seen.host, dict) or "name" not in seen.host:
            raise TypeError("a node has no name")
        return seen

    def in_words(self) -> str:
        """A line about the node, without its name."""
        return nodes.in_words(self.as_facts())


def look() -> Seen:
    """The node on which this process runs."""
    cpus = machine.cores().cpus
    return Seen(
        host=machine.host_facts(),
        governor=disturbances.governor(ROOT, cpus).seen,
        siblings=disturbances.siblings(ROOT, cpus).seen,
        c_library=" ".join(filter(None, platform.libc_ver())) or "C library not known",
        findings=[
            dict(vars(finding))
            for finding in (
                *host.findings(machine.limits(), machine.cores().physical, machine.cores().physical),
                *disturbances.steady(ROOT, cpus),
            )
        ],
    )


def read(folder: Path) -> list[Seen]:
    """The nodes that were looked at, by name. Files that were cut off are left out."""
    seen = []
    for path in sorted((folder / NODES).glob("*.json")):
        try:
            seen.append(Seen.from_json(json.loads(path.read_text())))
        except (OSError, ValueError, TypeError, KeyError):
            continue
    return seen


def differences(seen: Sequence[Seen]) -> list[str]:
    """A line for each node that differs from most of the others in what should be the same on all."""
    return nodes.differences({node.name: node.as_facts() for node in seen})


def notes(seen: Sequence[Seen], ranks_per_node: int) -> list[str]:
    """What a manifest says of nodes on which so many ranks are launched."""
    return [*differences(seen), *little_shared_memory(seen, ranks_per_node)]


def little_shared_memory(seen: Sequence[Seen], ranks_per_node: int) -> list[str]:
    """A line for each node whose /dev/shm had little space for so many ranks when it was looked at."""
    return [
        f"{node.name}: {note}"
        for node in seen
        for note in host.notes([host.shared_memory(host.HostLimits.from_facts(node.host), ranks_per_node)])
    ]


def look_at(in_hand: InHand, numbers: Numbers, folder: Path) -> list[Seen]:
    """The nodes in hand with these numbers, as processes on them see them. A node that does not answer is left out.
    folder: one that all nodes share."""
    words = [sys.executable, "-m", "mpi_campaign.running.node_probe", str(folder)]
    nodes_in_hand.ask_each(in_hand.of(numbers).names, in_hand.variables, words)
    names = in_hand.names_of(numbers)
    return [seen for seen in read(folder) if seen.name in names]


def main(arguments: list[str]) -> int:
    folder, seen = Path(arguments[0]), look()
    try:
        (folder / NODES).mkdir(exist_ok=True)
        files.write_atomically(folder / NODES / f"{seen.name}.json", json.dumps(vars(seen)) + "\n")
    except OSError as error:
        print(f"{seen.name}: {folder} cannot be written: {error.strerror}", file=sys.stderr)
        return EXIT_FAILED
    return EXIT_GOOD


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
