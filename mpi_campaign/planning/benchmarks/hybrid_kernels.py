"""Kernels in three variants: MPI, threads, and one copy of the data per node."""

import math

from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark, Question
from mpi_campaign.planning.benchmarks.point_values import PointValues

MOST_SIZE = 10**9
LEAST_ITEMS = 64
"""The program's own limits. Which sizes fit the memory and the grid of the nodes, it says itself."""


def grid_of_ranks(ranks: int) -> tuple[int, int]:
    """The grid of MPI_Dims_create: as square as can be, no fewer rows than columns."""
    columns = next(one for one in range(math.isqrt(ranks), 0, -1) if ranks % one == 0)
    return ranks // columns, columns


def impossible(question: Question) -> Impossible | None:
    """Why the ranks cannot divide the sizes that were asked for."""
    rows, columns = grid_of_ranks(question.ranks)
    unit = math.lcm(rows, columns)
    for order in map(int, question.points.get("summa_order", ())):
        if order % unit:
            return Impossible(
                f"--summa-order: {order} cannot be divided on a grid of {rows} x {columns} ranks; multiples of {unit} "
                f"can, such as {(order // unit + 1) * unit}"
            )
    fewest = min(map(int, question.points.get("poisson_rows", ())), default=question.ranks)
    if fewest < question.ranks:
        return Impossible(
            f"--poisson-rows: {fewest} rows cannot be divided among {question.ranks} ranks; at least {question.ranks}"
        )
    return None


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
    impossible=impossible,
)  # fmt: skip
