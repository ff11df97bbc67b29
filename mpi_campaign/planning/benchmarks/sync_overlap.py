"""A message to a receiver that is late, while the sender computes."""

import math

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.suites import Grid

SMOKE_CASE_SECONDS = 12.0
"""Enough for the few sizes of the smoke grid, and for the places of two changes between them."""


def _most_seconds(grid: Grid) -> float:
    return SMOKE_CASE_SECONDS if grid.name == "smoke" else math.inf


SYNC_OVERLAP = Benchmark(
    "sending to a receiver that is late, while computing (White & Bova 1999)",
    test="sync_overlap",
    choices=choices.of_family("sync_overlap"),
    configurations=("basic", "async", "dedicated", "apphelper"),
    most_seconds=_most_seconds,
)
