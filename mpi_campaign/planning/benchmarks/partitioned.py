"""Pipelined communication of a buffer that several threads fill."""

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark

PARTITIONED = Benchmark(
    "sending parts of a buffer as threads finish them (Gillis et al. 2023)",
    test="partitioned",
    choices=choices.of_family("partitioned"),
    configurations=("basic", "async", "dedicated", "apphelper"),
    basic_of="partitioned",
    fixture="partitioned_basic",
    pairs=True,
    most_seconds={"smoke": 4, "nightly": 8, "full": 60},
)
