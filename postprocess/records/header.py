"""The first line of a record as dataclasses: what ran, where, on whose behalf, and what was planned.

The header is the same for every family of benchmarks. What a program of others does not tell is null in its record;
here it has the default, which is 0 for a count, an empty text, and False for a flag.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from postprocess.records.fields import Json, Positive, fail

LARGEST_NUMBER = 1_000_000
"""The largest number of repeats or cores that is believed."""
NAMED = "named_cores"
"""The column with the cores of a rank's share where a run has several such numbers, so that the names of its cases tell
them; else 0. The other columns of a case tell the same."""
SIMULATED = "simulated"
"""The network of records that were made under a simulator. Their times are not compared with any others."""
KEEPING_APART = ("wire",)
"""Networks over which ranks of one node communicate as those of different nodes do, and share no memory."""
SIMULATOR = "SMPI "
"""How the version text of an MPI library begins that only simulates: SimGrid's."""

_DEVICE = re.compile(r"^\w+ Device:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)

Parameter: TypeAlias = int | float | str


def version_in_short(text: str) -> str:
    """The first line of what an MPI library says of its version, and the device it names, which decides how it waits.

    The text of some libraries fills a page, and most of it is how they were configured. A device may be several words:
    ``ch4:ucx ofi`` can use either of two network layers.
    """
    first_line = " ".join(text.strip().partition("\n")[0].split())
    device = device_of(text)
    return f"{first_line}, device {device}" if device else first_line


def device_of(text: str) -> str:
    """The device that an MPI library names in what it says of its version; empty where it names none."""
    device = _DEVICE.search(text)
    return device[1] if device else ""


def keeps_apart(network: str) -> bool:
    """Whether ranks of one node communicate over a network, such as wire:2gbit, as those of different nodes do."""
    return kind_of(network) in KEEPING_APART


def kind_of(network: str) -> str:
    """The kind of a network: wire of wire:2gbit."""
    return network.partition(":")[0]


@dataclass(frozen=True)
class Thread:
    """A thread that the MPI library started, with the CPUs it may use as the kernel lists them (``0-3,8``)."""

    name: str
    cpuset: str


@dataclass(frozen=True)
class Placement:
    """Where one rank ran, as seen from inside the process.

    ``helper_threads`` are progress threads of the application's own. ``dedicated_cpuset`` is for a progress thread
    alone.
    """

    rank: int
    host: str
    node: int
    cpuset: str
    physical_cores: int
    compute_cpusets: tuple[str, ...]
    mpi_threads: tuple[Thread, ...]
    helper_threads: tuple[Thread, ...]
    dedicated_cpuset: str


@dataclass(frozen=True)
class Progress:
    """What the configuration asks for: whose progress thread (``none``, ``library``, ``application``), who binds it
    (``none``, ``library``, ``program``), and how many cores of its share a rank gives up.
    """

    source: str
    pinned_by: str
    given_up_cores: int


@dataclass(frozen=True)
class Timer:
    """The local clock that times are read from: one step of it, and the mean cost of one reading."""

    name: str
    resolution_ns: int
    overhead_ns: float


@dataclass(frozen=True)
class HeaderClock:
    """The common clock when the run began. ``refusal`` says why there is none. What is not known is None."""

    method: str
    refusal: str
    clocks: int
    rounds: int
    residual_ns: float | None
    shortest_trip_ns: float | None
    drift_ppm: float | None
    synchronisation_seconds: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What was asked for. ``parameters`` has the values of each parameter of the points, in the order asked for; a
    parameter that is the same in all points has one value. ``own`` is what only the family plans. A field is None where
    the family has nothing of the kind.
    """

    parameters: Mapping[str, tuple[Parameter, ...]] = field(default_factory=dict)
    points: int | None = None
    budget_seconds: float | None = None
    interval_relative: float | None = None
    min_repetitions: int | None = None
    max_repetitions: int | None = None
    sizes_given: bool | None = None
    own: Json = field(default_factory=dict)


NO_PROGRESS_KNOWN = Progress("", "", 0)


@dataclass(frozen=True, kw_only=True)
class Header:
    """The first line of a record. ``where`` is ``file:line``, for errors about what it says.

    ``family`` is what was measured, ``method`` how: numbers of different methods are never compared. ``description`` is
    the hash of what the program says of itself; older records lack it. ``benchmark`` is
    the program that measured, or the other benchmark. ``start_method`` is empty where ranks do not start together,
    ``clock`` None where no times of different ranks are compared.
    ``mpi_variables`` are None where nobody asked for them. ``own`` is what only the family knows.
    """

    schema: str
    schema_version: int
    family: str
    method: Positive
    description: str = ""
    benchmark: str
    toolchain: str
    provider: str
    configuration: str
    network: str
    command_line: tuple[str, ...] = ()
    started_utc: str
    mpi_library_version: str = ""
    mpi_standard: str
    thread_level_required: str = ""
    thread_level_provided: str = ""
    ranks: Positive
    nodes: int = 0
    threads_per_rank: int = 0
    physical_cores: int = 0
    oversubscribed: bool = False
    shared_core: bool = False
    progress: Progress = NO_PROGRESS_KNOWN
    placement: tuple[Placement, ...] = ()
    timer: Timer | None = None
    start_method: str = ""
    seed: int | None = None
    build: Json = field(default_factory=dict)
    environment: Mapping[str, str]
    mpi_variables: Mapping[str, str] | None = None
    clock: HeaderClock | None = None
    plan: Plan = field(default_factory=Plan)
    own: Json = field(default_factory=dict)
    metadata: Json = field(default_factory=dict)
    where: str = field(default="", repr=False, compare=False)

    def planned_text(self, name: str) -> str:
        """The value of a parameter that all points share. Raises RecordError where it is not one text."""
        values = self.plan.parameters.get(name, ())
        if len(values) != 1 or not isinstance(values[0], str):
            fail(self.where, f"plan.parameters.{name} is not one text")
        return values[0]


def bucket_ns(header: Header) -> int:
    """The time, in ns, in which the bucket of a wire's rate limit fills, for which the program paused before a start.

    0 without a wire, and on the wire before it was `duplex`: what was said of its points stays.
    """
    for option, value in itertools.pairwise(header.command_line if header.network.endswith(":duplex") else ()):
        if option == "--settle" and re.fullmatch(r"\d{1,12}ns", value):
            return int(value.removesuffix("ns"))
    return 0


def wire_bytes_per_second(header: Header) -> float:
    """The rate of a wire, such as that of wire:2gbit:duplex; infinite without one."""
    rate = re.fullmatch(r"\w+:(\d{1,6})([kmg])bit(?::\w+)?", header.network)
    return int(rate[1]) * {"k": 1e3, "m": 1e6, "g": 1e9}[rate[2]] / 8 if rate and int(rate[1]) else math.inf


def repeat_of(metadata: Json) -> int | None:
    """The number of a record among the repeats of its case, from 1; None where its header's metadata do not tell."""
    return _number_of_case(metadata, "repeat")


def named_cores_of(metadata: Json) -> int:
    """The cores of each rank's share where a run has several such numbers, so that names tell them; else 0."""
    return _number_of_case(metadata, "cores_per_rank") or 0


def node_set_of(metadata: Json) -> str:
    """The numbers of the nodes of a record in a run that measures each node, such as 2+3; else empty."""
    case: Any = metadata.get("case")
    node_set = case.get("node_set") if isinstance(case, dict) else None
    return node_set if isinstance(node_set, str) and re.fullmatch(r"\d{1,6}(\+\d{1,6})*", node_set) else ""


def _number_of_case(metadata: Json, name: str) -> int | None:
    """A number that the metadata tell of the case, from 1 to LARGEST_NUMBER; None where they tell none."""
    case: Any = metadata.get("case")
    number = case.get(name) if isinstance(case, dict) else None
    return number if type(number) is int and 0 < number <= LARGEST_NUMBER else None
