"""The suites, written in one place: what each runs, and within what time.

A suite is a ReFrame mode, which sets grid, budget and time limit, and a tag, which selects its tests: by hand,
`reframe --mode=smoke --tag=smoke`. `campaign run` divides the budget of the whole suite among its cases itself.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.toolchains import resolving
from mpi_campaign.toolchains.peers import PEERS
from postprocess.families.axes import (
    APPROACH,
    COLLECTIVE,
    GRID_POINTS,
    INTRANODE,
    NOISE,
    OPERATION,
    PROTOCOL,
    RANKS_PER_NODE,
    SEND,
    TEST_INTERVAL,
    UNKNOWNS,
)
from postprocess.families.family import Axis, Value
from postprocess.records.description import descriptions
from postprocess.statistics.limits import LEAST_LAUNCHES

# The collectives that the paper measures everywhere (section 5.3), and one whose result every rank waits for.
PAPERS_FOUR = ("ibcast", "ireduce", "iallgather", "ialltoall")
FIVE = (*PAPERS_FOUR, "iallreduce")
# One version of each library that comes in wheels.
THREE_LIBRARIES = (*resolving.DEFAULT_TOOLCHAINS, "intel@2021.18.1")
_OVERLAP = descriptions()["nbc_overlap"]
COLLECTIVES = tuple(_OVERLAP.option("collective").choices)
"""All collectives that can be measured: the nonblocking ones of MPI-3, and their persistent forms of MPI-4."""

# The approaches of partitioned communication that a first look compares: MPI's own, and the two that need no MPI 4.
FIRST_APPROACHES = ("part", "many", "layer")
# Measured on request: known faults of a library would fail a whole run; more neighbours need more ranks than two.
FAULTY_SOMEWHERE = ("part_coarse", "part_startall", "part_polling")
MANY_NEIGHBOURS = ("part_neighbours_4", "part_neighbours_6")
APPROACHES = tuple(name for name in APPROACH.values if name not in (*FAULTY_SOMEWHERE, *MANY_NEIGHBOURS))
# The blocking collectives of a first look: the three that Hoefler et al. 2006 model, and the one that is idle longest.
FIRST_OPERATIONS = ("barrier", "bcast", "alltoall", "allreduce")
# Those of them that fit into a minute and a half: that of the paper's figure 1, and the one that is idle longest.
FEWEST_OPERATIONS = ("alltoall", "allreduce")
OPERATIONS = tuple(OPERATION.values)
# The ways of a collective that tell in few points what it costs the CPU, and what of it is idle.
FIRST_WAYS = ("blocking", "nonblocking", "sleeping")
# A message to a late receiver, and beside it the negative control.
SENDS = ("early", "late")
# A library's collectives within a node at their best, which may be any of its settings.
INTRANODES = tuple(INTRANODE.values)

# The grids of solvers, by their points: that of White & Bova 1999, and one whose parts do not fit into caches.
FIRST_GRIDS = (10_000,)
GRIDS_OF_SOLVERS = (*FIRST_GRIDS, 1_000_000)
# One unknown per point; and sixteen, whose messages on the larger grid are too long for most libraries' eager protocol.
FIRST_UNKNOWNS = (1,)
UNKNOWNS_OF_SOLVERS = (*FIRST_UNKNOWNS, 16)

# What measures communication beside the overlap of collectives: a case takes seconds, and at most a few minutes.
SHORT_BENCHMARKS = (
    "partitioned",
    "cpu_overhead",
    "loggp",
    "sync_overlap",
    "transfer_overlap",
    "hybrid",
    "hybrid_kernels",
)

# Of the full grid's: a machine is accepted by several launches, not by a finer map of one.
_EVERY_OTHER_TIME = tuple(f"{time}ns" for time in _OVERLAP.option("comm_target_ns").grids["full"][::2])

_USUAL_VALUES: Mapping[str, tuple[Value, ...]] = {
    COLLECTIVE.name: FIVE,
    APPROACH.name: APPROACHES,
    OPERATION.name: OPERATIONS,
    SEND.name: SENDS,
    INTRANODE.name: INTRANODES,
    GRID_POINTS.name: GRIDS_OF_SOLVERS,
    UNKNOWNS.name: UNKNOWNS_OF_SOLVERS,
}
"""The values that a suite measures unless it says otherwise."""


Row: TypeAlias = Mapping[str, tuple[Value, ...]]
"""Cases by the values that they have of axes, of `configuration` and of `network`; any value of what is not in it."""

_BASIC, _THREAD = ("basic",), ("async",)
_WITHIN, _WIRE = ("shm",), ("wire",)
_ONE_SIDED = tuple(name for name in APPROACH.values if name.startswith("rma_") and name != "rma_fence")
_TESTED_EVERY_NS = 100_000
_ONE_RANK, _TWO_RANKS = 1, 2

_PLANTED: Mapping[str, tuple[Row, ...]] = {
    "sync_overlap": (
        {"configuration": _BASIC},
        {"configuration": _THREAD, "network": _WIRE, PROTOCOL.name: ("default",)},
    )
}
"""Progress threads over the wire and with the usual protocol only: the others show nothing that `basic` does not."""

_OF_PAPERS: Mapping[str, tuple[Row, ...]] = {
    "nbc_overlap": (
        {"network": _WIRE, TEST_INTERVAL.name: (0,)},
        {
            "network": _WIRE,
            TEST_INTERVAL.name: (_TESTED_EVERY_NS,),
            "configuration": _BASIC,
            COLLECTIVE.name: ("ibcast",),
        },
        {
            "network": ("wire:50mbit",),
            TEST_INTERVAL.name: (0,),
            "configuration": _BASIC,
            COLLECTIVE.name: ("ialltoall",),
        },
    ),
    "mpi_impact": (
        {
            "network": _WIRE,
            RANKS_PER_NODE.name: (_ONE_RANK,),
            "configuration": ("basic", "async", "dedicated", "dedicated_unbound"),
        },
    ),
    "partitioned": (
        {"network": (*_WITHIN, *_WIRE), NOISE.name: ("last",), "configuration": _BASIC},
        {"network": _WIRE, NOISE.name: ("none",), "configuration": _BASIC, APPROACH.name: ("many",)},
        {"network": _WIRE, NOISE.name: ("last",), APPROACH.name: FIRST_APPROACHES},
    ),
    "cpu_overhead": ({"network": _WIRE, "configuration": _BASIC},),
    "loggp": ({"network": _WIRE, "configuration": _BASIC},),
    "sync_overlap": (
        {"network": _WITHIN, "configuration": _BASIC, SEND.name: ("early",)},
        {
            "network": _WIRE,
            "configuration": _BASIC,
            SEND.name: ("early",),
            PROTOCOL.name: ("default", "eager", "rendezvous"),
        },
        {"network": (*_WITHIN, *_WIRE), "configuration": _BASIC, PROTOCOL.name: ("default",)},
        {"network": _WIRE, "configuration": _THREAD, PROTOCOL.name: ("default",), SEND.name: ("early",)},
    ),
    "transfer_overlap": (
        {"network": _WIRE, "configuration": _BASIC, GRID_POINTS.name: FIRST_GRIDS, UNKNOWNS.name: UNKNOWNS_OF_SOLVERS},
        {"network": _WIRE, GRID_POINTS.name: (1600,), UNKNOWNS.name: (256,)},
    ),
    "hybrid": ({"network": _WITHIN},),
    "hybrid_kernels": ({"network": _WITHIN},),
}
"""What the findings of the papers need (`postprocess/papers/`)."""


@dataclass(frozen=True)
class Suite:
    """grid: the programs' name of their points, `--grid`, where a run asks for no others.

    budget_seconds: wall time of the whole suite; 0 where only the repetitions bound it.
    case_seconds, limit: budget and time limit that the ReFrame mode gives a case when ReFrame is started by hand.
    toolchains, benchmarks, configurations, axes: what the suite measures where nothing else is asked for. An axis that
    is not in `axes` has its usual value.
    leaves_out: the axis whose last values are left out where the budget has no time for them; empty where every value
    is measured, however long that takes.
    launches: how many launches a case has, unless its benchmark says otherwise (`Benchmark.launches`). Three tell by
    how much they differ.
    networks: the kinds of networks that it measures over, as far as the machine has them, where a run asks for none and
    has one node; empty: over one network.
    points: the values of axes of points that it measures in place of the grid's, by `Choice.name`, or of one benchmark
    by its name and that: `mpi_impact.comp_times`.
    ranks_per_node: of a run on one node that asks for none; empty: as of any run.
    rows: by benchmark, the only cases that it has, each in one of these rows at least; all where there is no entry. A
    network without a rate is the run's own of that kind. What a person asked for is not looked at, nor, unless it is
    fixed, the network of a run that has but one.
    fixed: it is about the answers of its own benchmarks and values of axes: others cannot be asked for in it.
    grows: the suite may exceed its budget, so that each case of nbc_overlap gets its `least_seconds`. More cores mean
    more configurations, and each of their points has to be measured.
    """

    purpose: str
    grid: str
    budget_seconds: float
    case_seconds: float
    limit: str
    toolchains: tuple[str, ...] = resolving.DEFAULT_TOOLCHAINS
    benchmarks: tuple[str, ...] = ("nbc_overlap",)
    configurations: tuple[str, ...] = tuple(CONFIGURATIONS)
    axes: Mapping[str, tuple[Value, ...]] = field(default_factory=lambda: _USUAL_VALUES)
    leaves_out: str = ""
    launches: int = LEAST_LAUNCHES
    networks: tuple[str, ...] = ()
    points: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ranks_per_node: tuple[int, ...] = ()
    rows: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    fixed: bool = False
    grows: bool = False

    def has(self, benchmark: str, case: Mapping[str, Value], not_looked_at: Collection[str]) -> bool:
        """Whether one of its rows has a case.  case: its values of axes, `configuration` and `network`."""
        rows = self.rows.get(benchmark, ({},))
        return any(all(case[name] in row[name] for name in row.keys() - not_looked_at) for row in rows)

    def values(self, axis: Axis) -> tuple[Value, ...]:
        """The values of an axis that the suite measures."""
        assert axis.usual is not None
        return self.axes.get(axis.name, (axis.usual,))


SUITES: Mapping[str, Suite] = {
    "smoke": Suite(
        purpose="a first look: 3 x 3 points around 16 ms",
        grid="smoke",
        budget_seconds=220,
        case_seconds=12,
        limit="5m",
        configurations=("basic", "async", "dedicated", "apphelper"),
        axes={
            COLLECTIVE.name: PAPERS_FOUR,
            APPROACH.name: FIRST_APPROACHES,
            OPERATION.name: FEWEST_OPERATIONS,
            SEND.name: SENDS,
            GRID_POINTS.name: FIRST_GRIDS,
            UNKNOWNS.name: FIRST_UNKNOWNS,
        },
        leaves_out=COLLECTIVE.name,
        launches=1,
    ),
    "nightly": Suite(
        purpose="regressions: 3 x 3 points from 4 to 16 ms, each launched six times",
        benchmarks=("nbc_overlap", "mpi_impact", *SHORT_BENCHMARKS),
        grid="nightly",
        # Of 75 minutes, in which libraries are fetched, benchmarks built and the report written too.
        budget_seconds=3000,
        case_seconds=130,
        limit="20m",
        toolchains=THREE_LIBRARIES,
        axes={
            COLLECTIVE.name: FIVE,
            APPROACH.name: FIRST_APPROACHES[:1],
            OPERATION.name: FEWEST_OPERATIONS,
            SEND.name: SENDS,
            GRID_POINTS.name: FIRST_GRIDS,
            UNKNOWNS.name: FIRST_UNKNOWNS,
        },
        launches=6,
        points={"ways": FIRST_WAYS},
        grows=True,
    ),
    "acceptance": Suite(
        purpose="acceptance: 6 x 6 points from 500 us to 512 ms",
        benchmarks=("nbc_overlap", "mpi_impact", *PEERS, *SHORT_BENCHMARKS),
        grid="full",
        budget_seconds=43200,
        case_seconds=700,
        limit="1h",
        toolchains=THREE_LIBRARIES,
        grows=True,
        points={"comm_times": _EVERY_OTHER_TIME, "comp_times": _EVERY_OTHER_TIME},
    ),
    "planted": Suite(
        purpose="settings of which it is known what must be found: are the answers about messages right?",
        benchmarks=("sync_overlap",),
        grid="full",
        budget_seconds=720,
        case_seconds=25,
        limit="5m",
        toolchains=THREE_LIBRARIES,
        configurations=("basic", "async"),
        axes={**_USUAL_VALUES, SEND.name: ("early",), PROTOCOL.name: tuple(PROTOCOL.values)},
        networks=("shm", "wire"),
        points={"message_bytes": ("64", "4096", "65536", "1048576")},
        rows=_PLANTED,
        launches=1,
        fixed=True,
    ),
    "papers": Suite(
        purpose="what the papers found: is it so here? campaign findings tells it",
        benchmarks=("nbc_overlap", "mpi_impact", *SHORT_BENCHMARKS),
        grid="nightly",
        budget_seconds=4000,
        case_seconds=130,
        limit="20m",
        toolchains=THREE_LIBRARIES,
        axes={
            COLLECTIVE.name: PAPERS_FOUR,
            TEST_INTERVAL.name: (0, _TESTED_EVERY_NS),
            APPROACH.name: ("single", *FIRST_APPROACHES, *_ONE_SIDED),
            NOISE.name: ("last", "none"),
            OPERATION.name: FEWEST_OPERATIONS,
            SEND.name: SENDS,
            PROTOCOL.name: tuple(PROTOCOL.values),
            GRID_POINTS.name: (1600, *FIRST_GRIDS),
            UNKNOWNS.name: (*UNKNOWNS_OF_SOLVERS, 256),
        },
        networks=("shm", "wire", "wire:50mbit"),
        ranks_per_node=(_TWO_RANKS, _ONE_RANK),
        points={
            "comm_times": ("2ms", "4ms", "16ms", "32ms"),
            "comp_times": ("2ms", "4ms", "16ms", "32ms"),
            "mpi_impact.comp_times": ("4ms", "64ms", "512ms"),
        },
        rows=_OF_PAPERS,
        grows=True,
    ),
    "full": Suite(
        purpose="the paper's map: 12 x 12 points, as long as the intervals take",
        benchmarks=("nbc_overlap", "mpi_impact"),
        grid="full",
        budget_seconds=0,
        case_seconds=0,
        limit="12h",
        toolchains=THREE_LIBRARIES,
    ),
}
