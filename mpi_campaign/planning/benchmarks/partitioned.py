"""Pipelined communication of a buffer that several threads fill."""

import math

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.suites import Grid

SMOKE_CASE_SECONDS = 4.0
"""Enough for the few points of the smoke grid: a first look at this benchmark alone takes a minute and a half."""


def _most_seconds(grid: Grid) -> float:
    return SMOKE_CASE_SECONDS if grid.name == "smoke" else math.inf


PARTITIONED = Benchmark(
    "sending parts of a buffer as threads finish them (Gillis et al. 2023)",
    test="partitioned",
    choices=choices.of_family("partitioned"),
    configurations=("basic", "async", "dedicated", "apphelper"),
    basic_of="partitioned",
    fixture="partitioned_basic",
    pairs=True,
    most_seconds=_most_seconds,
)
