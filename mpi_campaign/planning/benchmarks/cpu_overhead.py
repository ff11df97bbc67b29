"""What a collective costs the CPU, and the parameters of the LogGP model."""

import math

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.suites import Grid

SMOKE_CASE_SECONDS = 4.0
"""Enough for the few sizes of the smoke grid."""


def _most_seconds(grid: Grid) -> float:
    return SMOKE_CASE_SECONDS if grid.name == "smoke" else math.inf


CPU_OVERHEAD = Benchmark(
    "what a collective costs the CPU, and how much of it is free for work (Hoefler et al. 2006, section 3)",
    test="cpu_overhead",
    choices=choices.of_family("cpu_overhead"),
    configurations=("basic", "async", "dedicated"),
    most_seconds=_most_seconds,
)

LOGGP = Benchmark(
    "the parameters of the LogGP model, for what it predicts of collectives (Hoefler et al. 2006, section 2)",
    test="loggp",
    tests_file="cpu_overhead",
    configurations=("basic", "async", "dedicated"),
    most_seconds=_most_seconds,
)
