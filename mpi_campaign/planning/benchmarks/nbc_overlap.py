"""Overlap of nonblocking collectives."""

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark

NBC_OVERLAP = Benchmark(
    "overlap of nonblocking collectives (Denis et al. 2022)",
    test="nbc_overlap",
    choices=choices.of_family("nbc_overlap"),
    basic_of="nbc_overlap",
    fixture="nbc_overlap_basic",
    by_node=True,
    points=lambda grid: grid.points,
    least_seconds=lambda grid: grid.least_case_seconds,
    most_seconds={"nightly": 51},
)
