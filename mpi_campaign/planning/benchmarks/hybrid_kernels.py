"""Kernels in three variants: MPI, threads, and one copy of the data per node."""

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark

HYBRID_KERNELS = Benchmark(
    "kernels as pure MPI, with threads, and with one copy of the data per node (Zhou et al. 2020, section 5.3)",
    test="hybrid_kernels",
    choices=choices.of_family("hybrid_kernels"),
    configurations=("basic",),
    within_a_node=True,
    most_seconds={"smoke": 20, "nightly": 30, "full": 300},
)
