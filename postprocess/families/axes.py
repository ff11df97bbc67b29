"""The axes that families of benchmarks share. Each axis is defined once here; a family lists the axes that it has.

Code that plans, names, launches, checks, shows or compares cases loops over the axes of a family and names none. What
the command line, suites and programs need beyond this is in `mpi_campaign.planning.benchmarks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from postprocess.drawing.text import cores, duration, plural
from postprocess.families.family import Axis, Value
from postprocess.records.description import Option, descriptions

_KINDS: Mapping[str, Literal["text", "integer", "number"]] = {
    **dict.fromkeys(("choice", "choices"), "text"),
    **dict.fromkeys(("integer", "integers", "duration", "durations"), "integer"),
    **dict.fromkeys(("number", "numbers"), "number"),
}


def described(program: str, parameter: str, title: str, **more: Any) -> Axis:
    """An axis that is an option of a program: its kind, unit, legal values and usual value are the option's.

    more: fields of the axis that the option does not tell, or tells otherwise. Raises LookupError where no option of
    the program has the values of this parameter.
    """
    option = descriptions()[program].option(parameter)
    unit = "ns" if parameter.endswith("_ns") else "bytes" if parameter.endswith("_bytes") else ""
    return of_option(option, parameter, title, **{"usual": option.default, "unit": unit, **more})


def of_option(option: Option, name: str, title: str, **more: Any) -> Axis:
    """An axis whose kind and legal values are those of an option."""
    return Axis(name, title, **{"kind": _KINDS[option.kind], "values": option.choices, "option": option, **more})


BENCHMARK = Axis("benchmark", "benchmark")
COLLECTIVE = described("nbc_overlap", "collective", "collective", usual="")  # empty for a benchmark without one
SYSTEM = Axis("system", "system", words="system {}".format)
TOOLCHAIN = Axis("toolchain", "toolchain")
PROVIDER = Axis("provider", "provider", words="from {}".format)
CONFIGURATION = Axis("configuration", "configuration")
NETWORK = Axis("network", "network")
RANKS = Axis("ranks", "ranks", kind="integer", words=lambda count: plural(count, "rank"))
NODES = Axis(
    "nodes", "nodes", usual=1, kind="integer", words=lambda count: plural(count, "node"), in_file_name="{}nodes".format
)
NODE_SET = Axis(
    "node_set", "which nodes", usual="", in_file_name="on_{}".format,
    words=lambda numbers: f"on node{'s' * ('+' in numbers)} {' and '.join(numbers.split('+'))}",
)  # fmt: skip
"""The numbers of the nodes that a case is measured on, such as 2+3, in a run that measures each node; else empty."""
THREADS = Axis(
    "threads_per_rank", "threads per rank", kind="integer", words=lambda count: f"{plural(count, 'thread')} per rank"
)
GIVEN_UP = Axis(
    "given_up_cores", "cores given up", kind="integer", words=lambda count: f"{plural(count, 'core')} given up"
)
NAMED_CORES = Axis("named_cores", "cores per rank", usual=0, kind="integer", words=cores)
"""The cores per rank, in a run with several such numbers, so that names include it. It follows from the other axes of
placement, so cases are not matched by it."""
CACHE = described("nbc_overlap", "cache", "caches", words="{} caches".format)
COMPUTATION = described("nbc_overlap", "computation", "computation")
TEST_INTERVAL = described(
    "nbc_overlap", "test_interval_ns", "MPI_Test", of_basic=False,
    words=lambda interval_ns: f"MPI_Test every {duration(interval_ns)}", in_file_name="test{}ns".format,
)  # fmt: skip
APPROACH = described("partitioned", "approach", "approach", in_every_label=True)
"""How a buffer that several threads fill is sent."""
NOISE = described("partitioned", "noise", "noise", words="noise {}".format, in_file_name="noise_{}".format)
"""Which partitions are ready late."""
INTERFACES = described(
    "partitioned", "interfaces", "virtual interfaces", in_file_name="interfaces_{}".format, sets_library=True,
    words=lambda value: "a virtual interface per thread" if value == "per_thread" else f"interfaces {value}",
)  # fmt: skip
"""How many independent ways to the network the library has, so that threads need not wait for each other."""
METHOD = described("partitioned", "method", "method", words="method of the {}".format)
"""How it is measured: as this project does, or as the paper did that the benchmark measures again."""
FIGURE = described("partitioned", "figure", "figure", words="figure {}".format, in_file_name="figure_{}".format)
"""The settings of a figure of the paper, instead of the suite's points."""
LIBRARY_SETTING = described(
    "cpu_overhead", "library_setting", "library setting", of_basic=False, words="library {}".format, sets_library=True
)
"""How the MPI library is set, beside the configuration."""
INTRANODE = described(
    "hybrid", "intranode", "collectives within a node", short="within a node", sets_library=True,
    of_basic=False,  # no case takes sizes from `basic`
    words=lambda value: f"within a node by {str(value).replace('_', ' ')}", in_file_name="intranode_{}".format,
)  # fmt: skip
"""How the MPI library makes collectives within a node."""
VIRTUAL_NODE_RANKS = described(
    "hybrid", "virtual_node_ranks", "ranks of a virtual node", short="virtual node", of_basic=False,
    words=lambda count: f"virtual nodes of {plural(count, 'rank')}", in_file_name="virtual{}".format,
)  # fmt: skip
"""The most ranks of a virtual node, a group of ranks of which the MPI library does not know."""
OPERATION = described("cpu_overhead", "operation", "operation", usual="", of_basic=False)
"""The blocking collective. `COLLECTIVE` has the nonblocking and persistent ones, which other programs measure."""
GRID_POINTS = described(
    "transfer_overlap", "grid_points", "points of the grid", short="points", usual=0, of_basic=False,
    words="{} points".format, in_file_name="{}points".format,
)  # fmt: skip
"""The points of the grid on which a solver is measured."""
UNKNOWNS = described(
    "transfer_overlap", "unknowns", "unknowns per point", short="unknowns", usual=0, of_basic=False,
    words=lambda count: f"{plural(count, 'unknown')} per point", in_file_name="{}unknowns".format,
)  # fmt: skip
"""The unknowns of each point."""
SEND = described("sync_overlap", "send", "send", of_basic=False, words="sent {}".format, in_file_name="sent_{}".format)
"""When the sender of a message to a late receiver sends it."""
SENT_LATE, SENT_NEVER = "late", "never"
PROTOCOL = described(
    "sync_overlap", "protocol", "protocol", of_basic=False, words="protocol {}".format, sets_library=True
)
"""How a library is told to transfer a message."""
CORES_PER_RANK = Axis(
    "cores_per_rank", "cores per rank", usual=0, kind="integer", words=cores, in_file_name="{}cores".format
)
"""The cores per rank where a run has several such numbers; 0 where it has one number."""
RANKS_PER_NODE = Axis(
    "ranks_per_node", "ranks per node", usual=0, kind="integer",
    words=lambda count: f"{plural(count, 'rank')} per node", in_file_name="{}per_node".format,
)  # fmt: skip
"""The ranks on each node where a run has several such numbers; 0 where it has one number."""
LAUNCH = Axis("launch", "launch", usual=1, of="launch", kind="integer")
COMM_TARGET = Axis(
    "comm_target_ns", "communication", short="comm", usual=0, of="point", kind="integer", unit="ns", words=duration
)  # fmt: skip
COMP_TARGET = Axis(
    "comp_target_ns", "computation", short="comp", usual=0, of="point", kind="integer", unit="ns", words=duration
)  # fmt: skip
MESSAGE = Axis("message_bytes", "messages", usual=0, of="point", kind="integer", unit="bytes")
WORK = Axis("work_size", "work", usual=0, of="point", kind="integer")
SIZES = (MESSAGE, WORK)
"""The sizes that calibration finds for a point; they must be the same where times are compared."""

NAMED_BY = (
    *(BENCHMARK.name, COLLECTIVE.name, SYSTEM.name, TOOLCHAIN.name, PROVIDER.name, CONFIGURATION.name, NETWORK.name),
    *(RANKS.name, NODES.name, THREADS.name, GIVEN_UP.name, CACHE.name, COMPUTATION.name, TEST_INTERVAL.name),
    *(COMM_TARGET.name, COMP_TARGET.name, "oversubscribed"),
)
"""The columns that always name a series in histories, for the families that were compared when alarms got names.
Acknowledged alarms are recognised by these names, so this tuple must not change: an axis that is added later names a
series only where its value is unusual."""
PARAMETERS: Mapping[str, tuple[Axis, ...]] = {
    "nbc_overlap": (COLLECTIVE, COMPUTATION, TEST_INTERVAL, CACHE),
    "mpi_impact": (COMPUTATION,),
    "partitioned": (APPROACH, NOISE, INTERFACES, CACHE, METHOD, FIGURE),
    "cpu_overhead": (OPERATION, LIBRARY_SETTING, METHOD),
    "transfer_overlap": (GRID_POINTS, UNKNOWNS),
    "hybrid_kernels": (VIRTUAL_NODE_RANKS, METHOD),
    "sync_overlap": (SEND, PROTOCOL),
    "hybrid": (INTRANODE, VIRTUAL_NODE_RANKS, CACHE, METHOD),
    "peers": (COLLECTIVE, CACHE),
}
"""The axes on which a user can choose the cases of a family, by family, in the order of words and of file names. A
family without such axes has no entry."""
PLACEMENT = (SYSTEM, PROVIDER, RANKS, NODES, THREADS, GIVEN_UP)
"""The axes that are shown only if the things shown side by side differ in them."""
ASKED_FOR = tuple(dict.fromkeys(axis for own in PARAMETERS.values() for axis in own))
"""The axes of `PARAMETERS` of all families."""
_BESIDE = (axis for axis in ASKED_FOR if axis != COLLECTIVE)
UNUSUAL = tuple(dict.fromkeys((NODES, NODE_SET, NAMED_CORES, CACHE, COMPUTATION, TEST_INTERVAL, *_BESIDE)))
"""The axes whose unusual values follow the name of a configuration, in this order."""


def asked(parameters: Mapping[str, Sequence[Value]], axes: Iterable[Axis]) -> dict[str, Any]:
    """The values of `axes` in a record's plan, by name; the usual value of an axis that the plan does not have."""
    return {axis.name: next(iter(parameters.get(axis.name, ())), axis.usual) for axis in axes}


def library_settings(parameters: Mapping[str, Value]) -> dict[str, str]:
    """The unusual values of a case by which its MPI library is set, by axis."""
    setting = (axis for axis in ASKED_FOR if axis.sets_library and axis.name in parameters)
    return {axis.name: str(parameters[axis.name]) for axis in setting if not axis.is_usual(parameters[axis.name])}


def unusual_words(case: Mapping[Any, Any], axes: Iterable[Axis] = UNUSUAL) -> str:
    """The unusual values of a case, to follow its name: ``, cold caches``, ``, triad, MPI_Test every 100 µs``.

    Axes that the case does not have are left out.
    """
    unusual = (axis.words(case[axis.name]) for axis in axes if axis.name in case and not axis.is_usual(case[axis.name]))
    return "".join(f", {words}" for words in unusual)


def configuration_words(case: Mapping[Any, Any], axes: Iterable[Axis] = UNUSUAL) -> str:
    """The configuration of a row or case with its unusual values: ``async, cold caches``, ``basic, triad``."""
    return f"{case['configuration']}{unusual_words(case, axes)}"


_OF_CASES = (TOOLCHAIN, PROVIDER, CONFIGURATION, NETWORK, RANKS, NODES, THREADS, GIVEN_UP)
"""The axes of the cases of every family."""


@dataclass(frozen=True)
class FamilyAxes:
    """The axes of a family in the order of its columns: those of all cases, of `PARAMETERS`, of launches, of points.

    of_point: its own ones, in which the points of a case differ.
    apart: those of its `PARAMETERS` that tables tell apart from the configuration.
    """

    family: str
    of_point: tuple[Axis, ...]
    apart: tuple[Axis, ...] = ()

    @property
    def asked(self) -> tuple[Axis, ...]:
        """Those of `PARAMETERS`."""
        return PARAMETERS.get(self.family, ())

    @property
    def beside(self) -> tuple[Axis, ...]:
        """Those of `asked` whose unusual values stand beside the configuration."""
        return tuple(axis for axis in self.asked if axis not in self.apart)

    @property
    def every(self) -> tuple[Axis, ...]:
        """All of them."""
        return (*_OF_CASES, *self.asked, LAUNCH, *self.of_point)

    @property
    def case(self) -> tuple[str, ...]:
        """The columns that identify a launch of a case. `launch` counts the repeats of a case in a run from 1."""
        return tuple(axis.name for axis in (*_OF_CASES, *self.asked, LAUNCH))

    def words(self, row: Mapping[Any, Any]) -> str:
        """The configuration of a row with its unusual values, but for those `apart`: ``async, cold caches``."""
        return configuration_words(row, (NAMED_CORES, *self.beside))
