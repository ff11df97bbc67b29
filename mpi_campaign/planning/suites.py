"""The suites, written in one place: what each runs, and within what time.

A suite is a ReFrame mode, which sets grid, budget and time limit, and a tag, which selects its tests: by hand,
`reframe --mode=smoke --tag=smoke`. `campaign run` divides the budget of the whole suite among its cases itself.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.planning.suite_rows import (
    FIRST_APPROACHES,
    FIRST_GRIDS,
    FIRST_UNKNOWNS,
    GRIDS_OF_SOLVERS,
    OF_PAPERS,
    ONE_RANK,
    ONE_SIDED,
    PLANTED,
    TESTED_EVERY_NS,
    TWO_RANKS,
    UNKNOWNS_OF_SOLVERS,
    Row,
)
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
    SEND,
    TEST_INTERVAL,
    UNKNOWNS,
)
from postprocess.families.family import Axis, Value
from postprocess.records.description import descriptions
from postprocess.statistics.limits import LEAST_LAUNCHES
from postprocess.statistics.looks import LOOKS

# The collectives that the paper measures everywhere (section 5.3), and one whose result every rank waits for.
PAPERS_FOUR = ("ibcast", "ireduce", "iallgather", "ialltoall")
FIVE = (*PAPERS_FOUR, "iallreduce")
# One version of each library that comes in wheels.
THREE_LIBRARIES = (*resolving.DEFAULT_TOOLCHAINS, "intel@2021.18.1")
_OVERLAP = descriptions()["nbc_overlap"]
COLLECTIVES = tuple(_OVERLAP.option("collective").choices)
"""All collectives that can be measured: the nonblocking ones of MPI-3, and their persistent forms of MPI-4."""

# Measured on request: known faults of a library would fail a whole run; more neighbours need more ranks than two.
FAULTY_SOMEWHERE = ("part_coarse", "part_startall", "part_polling")
MANY_NEIGHBOURS = ("part_neighbours_4", "part_neighbours_6")
APPROACHES = tuple(name for name in APPROACH.values if name not in (*FAULTY_SOMEWHERE, *MANY_NEIGHBOURS))
# The blocking collectives that fit into a minute and a half: that of figure 1 of Hoefler et al. 2006, and the one that
# is idle longest.
FEWEST_OPERATIONS = ("alltoall", "allreduce")
OPERATIONS = tuple(OPERATION.values)
# The ways of a collective that tell in few points what it costs the CPU, and what of it is idle.
FIRST_WAYS = ("blocking", "nonblocking", "sleeping")
# A message to a late receiver, and beside it the negative control.
SENDS = ("early", "late")
# A library's collectives within a node at their best, which may be any of its settings.
INTRANODES = tuple(INTRANODE.values)

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
        rows=PLANTED,
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
            TEST_INTERVAL.name: (0, TESTED_EVERY_NS),
            APPROACH.name: ("single", *FIRST_APPROACHES, *ONE_SIDED),
            NOISE.name: ("last", "none"),
            OPERATION.name: FEWEST_OPERATIONS,
            SEND.name: SENDS,
            PROTOCOL.name: tuple(PROTOCOL.values),
            GRID_POINTS.name: (1600, *FIRST_GRIDS),
            UNKNOWNS.name: (*UNKNOWNS_OF_SOLVERS, 256),
        },
        networks=("shm", "wire", "wire:50mbit"),
        ranks_per_node=(TWO_RANKS, ONE_RANK),
        points={
            "comm_times": ("2ms", "4ms", "32ms"),
            "comp_times": ("2ms", "4ms", "32ms"),
            "mpi_impact.comp_times": ("4ms", "64ms", "512ms"),
        },
        rows=OF_PAPERS,
        grows=True,
    ),
    "judge": Suite(
        purpose="which of two libraries is slower? campaign judge ends it as soon as that is known",
        grid="nightly",
        budget_seconds=540,
        case_seconds=5,
        limit="5m",
        configurations=("basic", "async"),
        axes={COLLECTIVE.name: ("ibcast", "ialltoall")},
        launches=LOOKS[-1],
        points={"comm_times": ("4ms", "16ms"), "comp_times": ("4ms", "16ms")},
    ),
    "guidelines": Suite(
        purpose="what must hold without a baseline: is a call slower than others that do the same?",
        benchmarks=("guidelines",),
        grid="nightly",
        budget_seconds=600,
        case_seconds=60,
        limit="10m",
        toolchains=THREE_LIBRARIES,
        configurations=("basic",),
        axes={},
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
