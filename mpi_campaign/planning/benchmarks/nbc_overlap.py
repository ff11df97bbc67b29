"""Overlap of nonblocking collectives."""

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import IN_TURN, Benchmark
from mpi_campaign.planning.benchmarks.choice import Asked, point_choice

# Legal target times, in ns. Shorter ones are no longer than the delay of a start; with longer ones, nine repetitions of
# a point take minutes.
_LEGAL = (1_000, 10_000_000_000)
_SHORT_NS = 6_000_000
"""Shorter computations are run in before each part (COMPUTE_SHORT_NS)."""
COMM_TIMES = point_choice(
    "nbc_overlap", "comm-times", called="comm-time", limits=_LEGAL, metavar="DURATION",
    about="Communication times of the map, e.g. 500us.",
)  # fmt: skip
COMP_TIMES = point_choice(
    "nbc_overlap", "comp-times", called="comp-time", limits=_LEGAL, metavar="DURATION",
    about="Computation times of the map and of mpi_impact.",
)  # fmt: skip
TIMES = (COMM_TIMES, COMP_TIMES)
"""Of the map: every pair of a time of communication and one of computation is a point."""


def map_times(grid: str, asked: Asked) -> tuple[list[int], ...]:
    """The times of TIMES, in ns, ascending: those that were asked for, else the grid's."""
    return tuple(
        [int(time) for time in choice.values_of(asked.get(choice.name, ()), choice.program.grids[grid])]
        for choice in TIMES
    )


def map_name(grid: str, asked: Asked) -> str:
    """The name under which references of the map are kept: of the grid, or of the times that replace the grid's."""
    times = map_times(grid, asked)
    if times == map_times(grid, {}):
        return grid
    return "comm_{}_comp_{}_ns".format(*("-".join(map(str, of_axis)) for of_axis in times))


def _points(grid: str, asked: Asked) -> int:
    comm, comp = map_times(grid, asked)
    return len(comm) * len(comp)


def _least_seconds(grid: str, asked: Asked) -> float:
    """Calibration and nine repetitions of all points. A repetition of a point, with its references, takes at most twice
    the sum of both times, and 6 ms more where the computation is short. Finding a size takes about eighteen tries."""
    comm, comp = map_times(grid, asked)
    points = sum(comm) * len(comp) + sum(comp) * len(comm)
    short = sum(time < _SHORT_NS for time in comp) * len(comm)
    return 18e-9 * (points + sum(comm) + sum(comp)) + 0.03 * len(comm) * len(comp) + 0.054 * short


NBC_OVERLAP = Benchmark(
    "overlap of nonblocking collectives (Denis et al. 2022)",
    test="nbc_overlap",
    choices=choices.of_family("nbc_overlap"),
    point_choices=TIMES,
    basic_of="nbc_overlap",
    fixture="nbc_overlap_basic",
    by_node=IN_TURN,
    points=_points,
    least_seconds=_least_seconds,
    most_seconds={"nightly": 51},
)
