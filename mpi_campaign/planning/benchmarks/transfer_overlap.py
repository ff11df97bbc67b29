"""Whether programming a solver for overlap pays."""

from collections.abc import Mapping

from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark, Question
from mpi_campaign.planning.benchmarks.choice import point_choice
from postprocess.drawing.text import plural, size
from postprocess.families.axes import GRID_POINTS, UNKNOWNS
from postprocess.families.family import Value

SECONDS_PER_POINT, SECONDS_PER_UNKNOWN = 6e-5, 2e-5
"""For nine repetitions of all versions of the solver, which converges in about 45 iterations, and for dividing the
grid; an estimate. On 2 cores a grid of a million points took 77 s with one unknown each. With 16 it took 134 s for two
of the eight versions, of which repetitions were 72 s."""

MOST_VALUES = 2**31 - 1
"""MPI counts elements as int."""
LEAST_POINTS_OF_PART = 8
MOST_PARTS = 1024
VECTORS = 8
WORD_BYTES = 8
"""The program's own limits, and the vectors of its solver. It refuses these sizes too, and knows the memory of all
nodes and what the grid takes beside the vectors."""


def parts_of(points: int) -> int:
    """How many parts a grid can have: a power of two, so that no part is smaller than it may be."""
    most = max(1, points // LEAST_POINTS_OF_PART)
    return min(MOST_PARTS, 1 << (most.bit_length() - 1))


def impossible(question: Question) -> Impossible | None:
    """Why the ranks cannot have the system that was asked for."""
    points, unknowns = int(question.parameters[GRID_POINTS.name]), int(question.parameters[UNKNOWNS.name])
    if question.ranks > parts_of(points):
        return Impossible(
            f"--grid-points: {points} points have at most {plural(parts_of(points), 'part')}, of "
            f"{LEAST_POINTS_OF_PART} points or more, and there are {question.ranks} ranks; ask for more points, or "
            "start fewer ranks"
        )
    if points * unknowns > MOST_VALUES:
        return Impossible(
            f"{points} points with {plural(unknowns, 'unknown')} each: more values than MPI counts; at most "
            f"{MOST_VALUES} are possible"
        )
    vectors_bytes = VECTORS * WORD_BYTES * points * unknowns // question.ranks
    if question.memory_bytes and vectors_bytes > question.memory_bytes // 2:
        return Impossible(
            f"{points} points with {plural(unknowns, 'unknown')} each: the vectors alone take {size(vectors_bytes)} of "
            f"a rank, more than half of its share of memory, {size(question.memory_bytes)}; ask for fewer, or start "
            "ranks on more nodes"
        )
    return None


def _needed_seconds(parameters: Mapping[str, Value]) -> float:
    points, unknowns = float(parameters[GRID_POINTS.name]), float(parameters[UNKNOWNS.name])
    return points * (SECONDS_PER_POINT + SECONDS_PER_UNKNOWN * unknowns)


TRANSFER_OVERLAP = Benchmark(
    "whether programming a solver for overlap pays (White & Bova 1999, section III)",
    test="transfer_overlap",
    choices=choices.of_family("transfer_overlap"),
    configurations=("basic", "async", "dedicated", "apphelper"),
    most_seconds={"smoke": 12, "nightly": 30, "full": 60},
    needed_seconds=_needed_seconds,
    point_choices=(point_choice("transfer_overlap", "max-iterations"),),
    impossible=impossible,
)
