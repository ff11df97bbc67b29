"""Collectives that keep one copy of the data per node."""

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark

HYBRID = Benchmark(
    "collectives with one copy of the data per node, against MPI's (Zhou et al. 2020)",
    test="hybrid",
    choices=choices.of_family("hybrid"),
    configurations=("basic",),
    within_a_node=True,
    most_seconds={"smoke": 25, "nightly": 40, "full": 300},
)
