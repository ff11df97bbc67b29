"""What is known of a system: its partitions, from its settings file, and the nodes on which ranks are placed.

Code that places ranks, or says what can be had where, asks here. Where launches are on this machine, a node has the
cores of this machine; elsewhere it has what the settings say.
"""

import contextlib
import os
import platform
import re
import runpy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from mpi_campaign import ROOT
from mpi_campaign.children import environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.placement import NodeShape, Numbers, first
from mpi_campaign.libraries.settings import Hosts
from mpi_campaign.networks import registry as networks
from mpi_campaign.systems import nodes_in_hand
from mpi_campaign.systems.nodes_in_hand import InHand
from mpi_campaign.this_machine import machine

SYSTEMS = ROOT / "systems"

TAKEN = {"reports", "general", "baseline", "last", *CONFIGURATIONS}
"""Words that mean something else in places where a system may be named."""

# The scheduler, by ReFrame's name, that launches on this machine.
LOCAL = "local"

# ReFrame's name of each library's own launcher.
OWN_LAUNCHER = "mpiexec"

# The systems of nodes in hand, by whose nodes they have.
JOB, BOX = "job", "box"
IN_HAND: Mapping[str, str] = {JOB: "allocation", BOX: "cluster-in-a-box"}


def this_node() -> NodeShape:
    """The cores of this machine that this process may use."""
    return NodeShape(machine.cores().physical, machine.core_cpus())


def network_refusal(network: str) -> str | None:
    """Why a network, such as wire:2gbit, cannot be had; None where it can, or where this machine cannot tell."""
    return machine.network_refusal(networks.kind(network))


@dataclass(frozen=True)
class Partition:
    """A partition of a system: its name, its network, and ReFrame's names of its scheduler and launcher.

    environment: variables that it lets into launches.  declared: a node as the settings describe it, or None.
    declared_nodes: the number of its nodes; None where that is not known.
    nodes: JOB or BOX where its nodes are those in hand; else empty.
    cpus_per_node: hardware threads of a node; 0 where the settings do not say.  access: the options of its jobs.
    jobs_at_once: how many jobs it may have in the queue.  longest_seconds: of a job; None: not limited.
    """

    name: str
    network: str
    scheduler: str
    launcher: str
    environment: environ.Requested
    declared: NodeShape | None = None
    declared_nodes: int | None = None
    nodes: str = ""
    cpus_per_node: int = 0
    access: tuple[str, ...] = ()
    jobs_at_once: int = 1
    longest_seconds: int | None = None

    @property
    def in_hand(self) -> InHand | None:
        """The nodes in hand; None where it has other nodes. Raises CampaignError where they cannot be used."""
        return nodes_in_hand.look(box=self.nodes == BOX) if self.nodes else None

    def hosts(self, numbers: Numbers) -> Hosts | None:
        """The hosts on which a launcher starts ranks on the nodes with these numbers; None where it needs none, as a
        library's own launcher on this machine."""
        if self.in_hand is None:
            return None
        hosts = self.in_hand.of(numbers)
        is_this = (
            len(numbers) == 1
            and self.launcher == OWN_LAUNCHER
            and hosts.names[0].partition(".")[0] == platform.node().partition(".")[0]
        )
        return None if is_this else hosts

    @property
    def most_nodes(self) -> int | None:
        """The number of its nodes; None where that is not known."""
        if self.in_hand is not None:
            return len(self.in_hand.hosts)
        return 1 if self.here else self.declared_nodes

    @property
    def whose_nodes(self) -> str:
        """Words before the number of nodes, which say whose nodes they are."""
        if self.in_hand is not None:
            return self.in_hand.whose
        return "without a batch system's job, there is" if self.here else f"partition '{self.name}' has"

    @property
    def here(self) -> bool:
        """Whether launches of the partition are on this machine."""
        return self.scheduler == LOCAL

    @property
    def node(self) -> NodeShape:
        """The nodes that ranks are placed on, all of them."""
        return self.shape(first(self.most_nodes or 1))

    def shape(self, numbers: Numbers) -> NodeShape:
        """The nodes with these numbers, that ranks are placed on."""
        if self.in_hand is not None:
            return self.in_hand.shape(numbers)
        return this_node() if self.here or self.declared is None else self.declared

    def why_not(self) -> str | None:
        """Why its network cannot be had; None where it can, or where this machine cannot tell."""
        return network_refusal(self.network)

    @property
    def whose(self) -> str:
        """Words before the number of cores, which say whose cores they are."""
        if self.in_hand is not None:
            return "a node has"
        of_this_machine = self.here or self.declared is None
        return "this machine allows" if of_this_machine else f"a node of partition '{self.name}' has"

    def requested(self) -> environ.Requested:
        """The variables to let in, with the values of this shell where launches start in it."""
        variables: dict[str, str | None] = dict(self.environment)
        for name in [name for name, value in variables.items() if value is None and self.here]:
            variables[name] = os.environ.get(name)
        return {name: value for name, value in variables.items() if value is not None or not self.here}


@dataclass(frozen=True)
class System:
    """A system by its name, and its partitions by network: shm, wire, native; of several with one network the first."""

    name: str
    partitions: Mapping[str, Partition]

    def partition(self, network: str = "") -> Partition:
        """The partition of a network such as wire:2gbit; by default the first partition. Raises KeyError."""
        return self.partitions[networks.kind(network) or next(iter(self.partitions))]


def available() -> list[str]:
    """Names of the systems that have settings."""
    return sorted(path.parent.name for path in SYSTEMS.glob("*/settings.py"))


@lru_cache
def load(name: str, partition: str = "") -> System:
    """A system as its settings file has it, or only its partition of that name. Raises CampaignError where the file is
    broken, or has no such partition."""
    declared = _partitions(name)
    chosen = [place for place in declared if partition in ("", place.name)]
    if not chosen:
        names = ", ".join(place.name for place in declared)
        raise CampaignError(f"system '{name}' has no partition '{partition}'; it has: {names}")
    partitions: dict[str, Partition] = {}
    for place in chosen:
        partitions.setdefault(place.network, place)
    return System(name, partitions)


def beside(system: str, partition: str, network: str) -> Partition | None:
    """The partition with another network whose launches are on the same nodes: its jobs ask for the same. None where
    there is none.  Raises CampaignError where there is no such partition."""
    declared = _partitions(system)
    asked = next((_place(place) for place in declared if place.name == partition), None)
    return next((place for place in declared if place.network == network and _place(place) == asked), None)


def _place(partition: Partition) -> tuple[object, ...]:
    """What says on which nodes launches of a partition are."""
    return partition.scheduler, partition.access, partition.nodes, partition.declared


def _partitions(name: str) -> tuple[Partition, ...]:
    """The partitions of a system, in the order of its settings file. Raises CampaignError where that is broken."""
    path = SYSTEMS / name / "settings.py"
    try:
        with _told_of_exit():
            system = runpy.run_path(str(path))["site_configuration"]["systems"][0]
        partitions = tuple(map(_of_settings, system["partitions"]))
    except (Exception, SystemExit) as error:  # the file is a program that the site wrote
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise CampaignError(f"{path} cannot be used ({what}): see docs/adding.md") from error
    if system.get("name", name) != name:
        raise CampaignError(
            f"{path} names the system '{system['name']}', its folder '{name}': let both be the same, see docs/adding.md"
        )
    return partitions


@contextlib.contextmanager
def _told_of_exit() -> Iterator[None]:
    """While this lasts, os._exit raises SystemExit: a settings file does not end the campaign without a word."""

    def exit_(status: int) -> NoReturn:
        raise SystemExit(f"os._exit({status})")

    leave, os._exit = os._exit, exit_
    try:
        yield
    finally:
        os._exit = leave


def _of_settings(entry: Mapping[str, Any]) -> Partition:
    extras, processor = entry["extras"], entry.get("processor", {})
    cores = processor.get("num_cpus", 0) // processor.get("num_cpus_per_core", 1)
    return Partition(
        entry["name"],
        extras["network"],
        entry.get("scheduler", LOCAL),
        entry.get("launcher", LOCAL),
        extras.get("environment", {}),
        NodeShape(cores) if cores else None,
        extras.get("most_nodes"),
        extras.get("nodes", ""),
        processor.get("num_cpus", 0),
        tuple(entry.get("access", ())),
        entry.get("max_jobs", 1),
        _seconds(entry["time_limit"]) if entry.get("time_limit") else None,
    )


def _seconds(text: str) -> int:
    """A duration of ReFrame's settings, such as 1d0h30m0s, in seconds. Raises ValueError for anything else."""
    match = re.fullmatch(r"(?=.)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text)
    if not match:
        raise ValueError(f"time_limit '{text}' is not of the form 1d2h30m0s")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def of_reframe(partition: Any, *, here: bool) -> Partition:
    """The partition of a ReFrame test. here: the launches of the test are on this machine."""
    return Partition(
        partition.name,
        partition.extras["network"],
        LOCAL if here else partition.scheduler.registered_name,
        partition.launcher_type.registered_name,
        partition.extras.get("environment", {}),
        NodeShape(partition.processor.num_cores or 1),
        nodes=partition.extras.get("nodes", ""),
    )
