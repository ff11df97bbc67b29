"""Collectives that keep one copy of the data per node."""

import math

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.suites import Grid

SMOKE_CASE_SECONDS = 25.0
"""Enough for the points of the smoke grid, each of which has four batches in a repetition."""


def _most_seconds(grid: Grid) -> float:
    return SMOKE_CASE_SECONDS if grid.name == "smoke" else math.inf


HYBRID = Benchmark(
    "collectives with one copy of the data per node, against MPI's (Zhou et al. 2020)",
    test="hybrid",
    choices=choices.of_family("hybrid"),
    configurations=("basic",),
    most_seconds=_most_seconds,
)
