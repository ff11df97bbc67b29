"""Kernels in three variants: MPI, threads, and one copy of the data per node."""

import math

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.suites import Grid

SMOKE_CASE_SECONDS = 20.0
"""Enough for nine repetitions of each kernel at the sizes of the smoke grid."""


def _most_seconds(grid: Grid) -> float:
    return SMOKE_CASE_SECONDS if grid.name == "smoke" else math.inf


HYBRID_KERNELS = Benchmark(
    "kernels as pure MPI, with threads, and with one copy of the data per node (Zhou et al. 2020, section 5.3)",
    test="hybrid_kernels",
    choices=choices.of_family("hybrid_kernels"),
    configurations=("basic",),
    most_seconds=_most_seconds,
)
