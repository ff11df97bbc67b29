"""The axes that families of benchmarks share. Each axis is defined once here; a family lists the axes that it has.

Code that plans, names, launches, checks, shows or compares cases loops over the axes of a family and names none. What
the command line, suites and programs need beyond this is in `mpi_campaign.planning.benchmarks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postprocess.drawing.text import cores, duration, plural
from postprocess.families.family import Axis, Value

BENCHMARK = Axis("benchmark", "benchmark")
COLLECTIVE = Axis("collective", "collective", usual="")  # empty for a benchmark without collectives
SYSTEM = Axis("system", "system", words="system {}".format)
TOOLCHAIN = Axis("toolchain", "toolchain")
PROVIDER = Axis("provider", "provider", words="from {}".format)
CONFIGURATION = Axis("configuration", "configuration")
NETWORK = Axis("network", "network")
RANKS = Axis("ranks", "ranks", kind="integer", words="{} ranks".format)
NODES = Axis(
    "nodes", "nodes", usual=1, kind="integer", words=lambda count: plural(count, "node"), in_file_name="{}nodes".format
)
NODE_SET = Axis(
    "node_set", "which nodes", usual="", in_file_name="on_{}".format,
    words=lambda numbers: f"on node{'s' * ('+' in numbers)} {' and '.join(numbers.split('+'))}",
)  # fmt: skip
"""The numbers of the nodes that a case is measured on, such as 2+3, in a run that measures each node; else empty."""
THREADS = Axis("threads_per_rank", "threads per rank", kind="integer", words="{} threads per rank".format)
GIVEN_UP = Axis("given_up_cores", "cores given up", kind="integer", words="{} cores given up".format)
NAMED_CORES = Axis("named_cores", "cores per rank", usual=0, kind="integer", words=cores)
"""The cores per rank, in a run with several such numbers, so that names include it. It follows from the other axes of
placement, so cases are not matched by it."""
CACHE = Axis(
    "cache",
    "caches",
    usual="warm",
    values={
        "warm": "every repetition uses the same buffers",
        "cold": "buffers in turn, so many that none is found in a cache",
    },
    words="{} caches".format,
)
COMPUTATION = Axis(
    "computation",
    "computation",
    usual="dgemm",
    values={
        "dgemm": "a matrix multiplication per thread (Denis et al. 2022)",
        "triad": "a[i] = b[i] + s c[i] per thread, over vectors larger than the caches",
    },
)
TEST_INTERVAL = Axis(
    "test_interval_ns", "MPI_Test", usual=0, kind="integer", unit="ns", of_basic=False,
    words=lambda interval_ns: f"MPI_Test every {duration(interval_ns)}", in_file_name="test{}ns".format,
)  # fmt: skip
APPROACH = Axis(
    "approach",
    "approach",
    usual="part",
    values={
        "part": "MPI_Psend_init: one call of MPI_Pready per partition (Gillis et al. 2023)",
        "part_parrived": "the same, and the receiving threads take each partition as MPI_Parrived announces it",
        "part_coarse": "the same, and the receiver has half of the sender's partitions",
        "part_neighbours": "part to 2 neighbours, a request for each, started one by one",
        "part_neighbours_4": "the same to 4 neighbours",
        "part_neighbours_6": "the same to 6 neighbours",
        "part_startall": "part to 2 neighbours, their requests started by one MPI_Startall",
        "part_polling": "part; first the last partition is late and the sender calls MPI_Iprobe meanwhile",
        "single": "one message, sent when all partitions are ready: bulk synchronisation",
        "many": "a message per partition, on a communicator per thread",
        "streams": "many with a stream communicator per thread (MPIX_Stream_comm_create)",
        "persistent": "a message per partition, all on one communicator, with a tag each",
        "layer": "our own partitions over persistent messages, small ones sent together",
        "rma_single_passive": "MPI_Put into one window that stays locked, with a message at either end",
        "rma_many_passive": "the same with a window per thread",
        "rma_single_active": "MPI_Put into one window, between MPI_Win_start and MPI_Win_complete",
        "rma_many_active": "the same with a window per thread",
        "rma_fence": "MPI_Put into one window, between two calls of MPI_Win_fence",
    },
    in_every_label=True,
)
"""How a buffer that several threads fill is sent."""
NOISE = Axis(
    "noise",
    "noise",
    usual="last",
    values={
        "last": "the last partition is late (Gillis et al. 2023, figure 8)",
        "none": "a computation before each partition, always as long",
        "uniform": "the same, as long as a uniform distribution says (Temuçin et al. 2022)",
        "normal": "the same from a normal distribution (appendix A of Gillis et al.)",
        "single": "the same, and one partition, another one each time, takes longer (Temuçin et al.)",
    },
    words="noise {}".format,
    in_file_name="noise_{}".format,
)
"""Which partitions are ready late."""
INTERFACES = Axis(
    "interfaces",
    "virtual interfaces",
    usual="usual",
    values={
        "usual": "as the library comes: one per process",
        "per_thread": "as many virtual interfaces as a rank has threads (Gillis et al. 2023, figure 6)",
    },
    words=lambda value: "a virtual interface per thread" if value == "per_thread" else f"interfaces {value}",
    in_file_name="interfaces_{}".format,
    sets_library=True,
)
"""How many independent ways to the network the library has, so that threads need not wait for each other."""
METHOD = Axis(
    "method",
    "method",
    usual="campaign",
    values={
        "campaign": "repetitions until the intervals are narrow",
        "paper": "as the paper did: 150 repetitions, their mean, and delays that are times (Gillis et al. 2023); "
        "10000 calls at a time (Hoefler et al. 2006); 20 solves of a kernel, the mean of 10000 calls of a collective "
        "(Zhou et al. 2020)",
    },
    words="method of the {}".format,
)
"""How it is measured: as this project does, or as the paper did that the benchmark measures again."""
FIGURE = Axis(
    "figure",
    "figure",
    usual="none",
    values={
        "none": "the points of the suite",
        "4": "figure 4 of Gillis et al. 2023: one thread, one partition",
        "5": "figure 5: 32 threads, a partition each; with --interfaces per_thread figure 6",
        "7": "figure 7: 4 threads, 32 partitions each, sent together up to 512 to 16384 bytes",
        "8": "figure 8: 4 threads, a partition each, gamma beta 2.5",
    },
    words="figure {}".format,
    in_file_name="figure_{}".format,
)
"""The settings of a figure of the paper, instead of the suite's points."""
LIBRARY_SETTING = Axis(
    "library_setting",
    "library setting",
    usual="usual",
    of_basic=False,
    values={
        "usual": "as the library comes",
        "yielding": "the library is told to give the CPU up while it waits",
        "blocking": "the library is told to wait without polling",
        "modelled": "barrier, bcast and allreduce by the algorithms of equations 1 to 3 (Hoefler et al. 2006)",
    },
    words="library {}".format,
    sets_library=True,
)
"""How the MPI library is set, beside the configuration."""
INTRANODE = Axis(
    "intranode",
    "collectives within a node",
    short="within a node",
    usual="usual",
    of_basic=False,  # no case takes sizes from `basic`
    values={
        "usual": "as the library chooses",
        "shared_memory": "through memory that the ranks of a node share",
        "point_to_point": "by messages between ranks",
    },
    words=lambda value: f"within a node by {str(value).replace('_', ' ')}",
    in_file_name="intranode_{}".format,
    sets_library=True,
)
"""How the MPI library makes collectives within a node."""
VIRTUAL_NODE_RANKS = Axis(
    "virtual_node_ranks",
    "ranks of a virtual node",
    short="virtual node",
    usual=0,  # the nodes there are
    kind="integer",
    of_basic=False,  # likewise
    words=lambda count: f"virtual nodes of {plural(count, 'rank')}",
    in_file_name="virtual{}".format,
)
"""The most ranks of a virtual node, a group of ranks of which the MPI library does not know."""
OPERATION = Axis(
    "operation",
    "operation",
    usual="",  # empty for a benchmark without blocking collectives
    of_basic=False,  # no case takes sizes from `basic`
    values={
        "barrier": "MPI_Barrier",
        "bcast": "MPI_Bcast",
        "gather": "MPI_Gather",
        "scatter": "MPI_Scatter",
        "allgather": "MPI_Allgather",
        "alltoall": "MPI_Alltoall",
        "reduce": "MPI_Reduce",
        "allreduce": "MPI_Allreduce",
        "reduce_scatter_block": "MPI_Reduce_scatter_block",
        "scan": "MPI_Scan",
    },
)
"""The blocking collective. `COLLECTIVE` has the nonblocking and persistent ones, which other programs measure."""
GRID_POINTS = Axis(
    "grid_points",
    "points of the grid",
    short="points",
    usual=0,  # for a benchmark without a grid
    kind="integer",
    of_basic=False,  # no case takes sizes from `basic`
    words="{} points".format,
    in_file_name="{}points".format,
)
"""The points of the grid on which a solver is measured."""
UNKNOWNS = Axis(
    "unknowns",
    "unknowns per point",
    short="unknowns",
    usual=0,  # likewise
    kind="integer",
    of_basic=False,
    words=lambda count: f"{plural(count, 'unknown')} per point",
    in_file_name="{}unknowns".format,
)
"""The unknowns of each point."""
SEND = Axis(
    "send",
    "send",
    usual="early",
    of_basic=False,  # no case takes sizes from `basic`
    values={
        "early": "MPI_Isend, then computation (White & Bova 1999)",
        "late": "MPI_Isend only when the computation is done: the negative control, which has nothing to overlap",
        "never": "no message: only the memory of idle ranks, of as many as there are",
    },
    words="sent {}".format,
    in_file_name="sent_{}".format,
)
"""When the sender of a message to a late receiver sends it."""
SENT_LATE, SENT_NEVER = "late", "never"
PROTOCOL = Axis(
    "protocol",
    "protocol",
    usual="default",
    of_basic=False,
    values={
        "default": "the library as it comes",
        "copied": "within a node: no single copy by the kernel, so that data go through a shared buffer",
        "eager": "the eager limit raised to 256 KiB",
        "rendezvous": "the eager limit as low as the library allows",
    },
    words="protocol {}".format,
    sets_library=True,
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


def told_to_library(parameters: Mapping[str, Value]) -> dict[str, str]:
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
