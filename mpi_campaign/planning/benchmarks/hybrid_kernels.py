"""Kernels in three variants: MPI, threads, and one copy of the data per node."""

import math

from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark, Question
from mpi_campaign.planning.benchmarks.choice import point_choice
from mpi_campaign.planning.benchmarks.hybrid import too_large_nodes
from postprocess.statistics.limits import MIN_REPETITIONS

KERNELS = point_choice("hybrid_kernels", "kernel")
_SIZES = {"summa_order": "summa", "poisson_rows": "poisson", "bpmf_items": "bpmf"}
"""The kernel of each option for sizes."""


def grid_of_ranks(ranks: int) -> tuple[int, int]:
    """The grid of MPI_Dims_create: as square as can be, no fewer rows than columns."""
    columns = next(count for count in range(math.isqrt(ranks), 0, -1) if ranks % count == 0)
    return ranks // columns, columns


def impossible(question: Question) -> Impossible | None:
    """Why a case cannot be measured as it was asked for. Raises CampaignError for sizes that do not divide."""
    chosen = question.points.get(KERNELS.name, KERNELS.legal)
    for name, kernel in _SIZES.items():
        if name in question.points and kernel not in chosen:
            return Impossible(
                f"--{name.replace('_', '-')}: its kernel, {kernel}, is not among those of --kernel: add --kernel "
                f"{kernel}, or leave it out"
            )
    check_division(question)
    return too_large_nodes(question)


def check_division(question: Question) -> None:
    """Refuse sizes that the ranks of a case cannot divide. Raises CampaignError."""
    rows, columns = grid_of_ranks(question.ranks)
    unit = math.lcm(rows, columns)
    for order in map(int, question.points.get("summa_order", ())):
        if order % unit:
            raise CampaignError(
                f"--summa-order: {order} cannot be divided on a grid of {rows} x {columns} ranks; multiples of {unit} "
                f"can, such as {(order // unit + 1) * unit}"
            )
    fewest = min(map(int, question.points.get("poisson_rows", ())), default=question.ranks)
    if fewest < question.ranks:
        raise CampaignError(
            f"--poisson-rows: {fewest} rows cannot be divided among {question.ranks} ranks; at least {question.ranks}"
        )


HYBRID_KERNELS = Benchmark(
    "kernels as pure MPI, with threads, and with one copy of the data per node (Zhou et al. 2020, section 5.3)",
    test="hybrid_kernels",
    choices=choices.of_family("hybrid_kernels"),
    configurations=("basic",),
    within_a_node=True,
    most_seconds={"smoke": 20, "nightly": 30, "full": 300},
    own_launches=MIN_REPETITIONS,
    point_choices=(KERNELS, *(point_choice("hybrid_kernels", name.replace("_", "-")) for name in _SIZES)),
    impossible=impossible,
)
