"""Whether programming a solver for overlap pays."""

from collections.abc import Mapping

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from postprocess.families.axes import GRID_POINTS, UNKNOWNS
from postprocess.families.family import Value

SECONDS_PER_UNKNOWN = 1.2e-4
"""For nine repetitions of all versions of the solver, which converges in about 45 iterations; an estimate."""


def _needed_seconds(parameters: Mapping[str, Value]) -> float:
    return SECONDS_PER_UNKNOWN * float(parameters[GRID_POINTS.name]) * float(parameters[UNKNOWNS.name])


TRANSFER_OVERLAP = Benchmark(
    "whether programming a solver for overlap pays (White & Bova 1999, section III)",
    test="transfer_overlap",
    choices=choices.of_family("transfer_overlap"),
    configurations=("basic", "async", "dedicated", "apphelper"),
    most_seconds={"smoke": 12, "nightly": 20, "full": 60},
    needed_seconds=_needed_seconds,
)
