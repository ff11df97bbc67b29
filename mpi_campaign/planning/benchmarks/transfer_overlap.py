"""Whether programming a solver for overlap pays."""

import math

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.suites import Grid

SMOKE_CASE_SECONDS = 6.0
"""Enough for nine repetitions of all versions on the small grid."""


def _most_seconds(grid: Grid) -> float:
    return SMOKE_CASE_SECONDS if grid.name == "smoke" else math.inf


TRANSFER_OVERLAP = Benchmark(
    "whether programming a solver for overlap pays (White & Bova 1999, section III)",
    test="transfer_overlap",
    choices=choices.of_family("transfer_overlap"),
    configurations=("basic", "async", "dedicated", "apphelper"),
    most_seconds=_most_seconds,
)
