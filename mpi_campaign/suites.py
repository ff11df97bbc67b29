"""The suites, written in one place: what each runs, and within what time.

A suite is a ReFrame mode, which sets grid, budget and time limit, and a tag, which selects its tests: by hand,
`reframe --mode=smoke --tag=smoke`. `campaign run` divides the budget of the whole suite among its cases itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mpi_campaign import libraries, toolchains
from mpi_campaign.errors import CampaignError
from mpi_campaign.peers import PEERS

# Those that the paper measures everywhere (section 5.3), and the one whose result every rank waits for.
PAPERS_FOUR = ("ibcast", "ireduce", "iallgather", "ialltoall")
FIVE = (*PAPERS_FOUR, "iallreduce")
# One of each library that comes in wheels.
THREE_LIBRARIES = (*toolchains.DEFAULT_TOOLCHAINS, "intel@2021.18.1")
# All that can be measured: the nonblocking ones of MPI-3, and the persistent form of each, of MPI-4.
NONBLOCKING = (
    *FIVE,
    "ibarrier", "igather", "igatherv", "iscatter", "iscatterv", "iallgatherv", "ialltoallv", "ialltoallw",
    "ireduce_scatter_block", "ireduce_scatter", "iscan", "iexscan",
    "ineighbor_allgather", "ineighbor_allgatherv",
    "ineighbor_alltoall", "ineighbor_alltoallv", "ineighbor_alltoallw",
)  # fmt: skip
COLLECTIVES = (*NONBLOCKING, *(f"{name[1:]}_init" for name in NONBLOCKING))

LOADED = "CAMPAIGN_COLLECTIVES"
"""Variable that names collectives, comma-separated, of which ReFrame makes tests beside the suites'; `all`: of all."""


@dataclass(frozen=True)
class Suite:
    """grid: name of the benchmark's grid of communication x computation times.

    points: its cells.  least_case_seconds: what calibration and nine repetitions of all of them take.
    budget_seconds: wall time of the whole suite, 0 where only the repetitions bound it.
    case_seconds, limit: what a ReFrame mode gives a case when it is started by hand: its budget, and its time limit.
    toolchains, benchmarks, configurations, collectives, computations: what it measures where nothing else is asked for.
    whole: all of that, whatever it takes; else the last collectives are left out where the budget has no room for them.
    grows: takes longer than its budget where that leaves a case less than `least_case_seconds`: on more cores there are
    more configurations, and each of their points has to be measured.
    """

    purpose: str
    grid: str
    points: int
    budget_seconds: float
    case_seconds: float
    limit: str
    least_case_seconds: float
    toolchains: tuple[str, ...] = toolchains.DEFAULT_TOOLCHAINS
    benchmarks: tuple[str, ...] = ("nbc_overlap",)
    configurations: tuple[str, ...] = tuple(libraries.CONFIGURATIONS)
    collectives: tuple[str, ...] = FIVE
    computations: tuple[str, ...] = ("dgemm",)
    whole: bool = True
    grows: bool = False

    def measures(self, benchmark: str, axes: Mapping[str, object]) -> bool:
        """Whether a case of a benchmark, with these values of its axes, belongs to it."""
        lists = {
            "configuration": self.configurations,
            "collective": self.collectives,
            "computation": self.computations,
        }
        return benchmark in self.benchmarks and all(axes[name] in lists[name] for name in lists if name in axes)


def loaded(named: str) -> tuple[str, ...]:
    """The collectives of which ReFrame makes tests: the suites', and what the variable `LOADED` names.

    Not all of them each time: they would be hundreds, and take ReFrame several seconds to load.
    Raises CampaignError for one that there is not.
    """
    names = set(COLLECTIVES if named == "all" else filter(None, named.split(",")))
    unknown = sorted(names - set(COLLECTIVES))
    if unknown:
        raise CampaignError(f"{LOADED}: unknown {unknown[0]!r}; choose from all, {', '.join(COLLECTIVES)}")
    return tuple(name for name in COLLECTIVES if name in names or name in FIVE)


SUITES: Mapping[str, Suite] = {
    "smoke": Suite(
        purpose="a first look: 3 x 3 points around 16 ms",
        grid="smoke",
        points=9,
        budget_seconds=220,
        case_seconds=12,
        limit="5m",
        least_case_seconds=8,
        configurations=("basic", "async", "dedicated", "apphelper"),
        collectives=PAPERS_FOUR,
        whole=False,
    ),
    "nightly": Suite(
        purpose="regressions: 6 x 6 points from 1 to 32 ms",
        benchmarks=("nbc_overlap", "mpi_impact", *PEERS),
        grid="nightly",
        points=36,
        budget_seconds=2700,  # of an hour, in which libraries are fetched, benchmarks built and the report written too
        case_seconds=130,
        limit="20m",
        least_case_seconds=17,
        toolchains=THREE_LIBRARIES,
    ),
    "acceptance": Suite(
        purpose="acceptance: 12 x 12 points from 500 us to 1 s",
        benchmarks=("nbc_overlap", "mpi_impact", *PEERS),
        grid="full",
        points=144,
        budget_seconds=43200,
        case_seconds=2100,
        limit="3h",
        least_case_seconds=960,
        toolchains=THREE_LIBRARIES,
        grows=True,
    ),
    "full": Suite(
        purpose="the paper's map: 12 x 12 points, as long as the intervals take",
        benchmarks=("nbc_overlap", "mpi_impact"),
        grid="full",
        points=144,
        budget_seconds=0,
        case_seconds=0,
        limit="12h",
        least_case_seconds=960,
        toolchains=THREE_LIBRARIES,
    ),
}
