"""Whether programming a solver for overlap pays."""

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark

TRANSFER_OVERLAP = Benchmark(
    "whether programming a solver for overlap pays (White & Bova 1999, section III)",
    test="transfer_overlap",
    choices=choices.of_family("transfer_overlap"),
    configurations=("basic", "async", "dedicated", "apphelper"),
    most_seconds={"smoke": 12, "nightly": 15, "full": 240},
)
