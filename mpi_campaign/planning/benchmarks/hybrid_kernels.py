"""Kernels in three variants: MPI, threads, and one copy of the data per node."""

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.benchmarks.point_values import PointValues

MOST_SIZE = 10**9
LEAST_ITEMS = 64
"""The program's own limits. Which sizes fit the ranks and the memory, it says itself."""

HYBRID_KERNELS = Benchmark(
    "kernels as pure MPI, with threads, and with one copy of the data per node (Zhou et al. 2020, section 5.3)",
    test="hybrid_kernels",
    choices=choices.of_family("hybrid_kernels"),
    configurations=("basic",),
    within_a_node=True,
    most_seconds={"smoke": 20, "nightly": 30, "full": 300},
    point_values=(
        PointValues(
            "summa_order", "--summa-order", "Orders n of the matrices that SUMMA multiplies, such as 512.",
            most=MOST_SIZE,
        ),
        PointValues(
            "poisson_rows", "--poisson-rows", "Rows of the square grid of the Poisson equation, such as 512.",
            most=MOST_SIZE,
        ),
        PointValues(
            "bpmf_items", "--bpmf-items", "Rows, and columns, of the generated matrix of ratings, such as 2000.",
            least=LEAST_ITEMS, most=MOST_SIZE,
        ),
    ),
)  # fmt: skip
