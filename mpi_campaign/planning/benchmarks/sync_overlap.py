"""A message to a receiver that is late, while the sender computes."""

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark

SYNC_OVERLAP = Benchmark(
    "sending to a receiver that is late, while computing (White & Bova 1999)",
    test="sync_overlap",
    choices=choices.of_family("sync_overlap"),
    configurations=("basic", "async", "dedicated", "apphelper"),
    most_seconds={"smoke": 8, "nightly": 15, "full": 120},
)
