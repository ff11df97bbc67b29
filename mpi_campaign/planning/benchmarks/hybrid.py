"""Collectives that keep one copy of the data per node."""

from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark, Question
from mpi_campaign.planning.benchmarks.choice import point_choice
from postprocess.families import axes

OPERATIONS = point_choice("hybrid", "operation", shared=True)


def impossible(question: Question) -> Impossible | None:
    """Why a case cannot be measured as it was asked for. The program says it in the same words."""
    cache, method = (question.parameters[axis.name] for axis in (axes.CACHE, axes.METHOD))
    if cache == "cold" and method == "paper":
        return Impossible(
            "--cache cold: --method paper has batches of many calls, whose data are in caches; leave one of the two out"
        )
    if question.points.get(OPERATIONS.name) == ():
        return Impossible(f"hybrid has the operations {', '.join(OPERATIONS.legal)} only")
    return too_large_nodes(question)


def too_large_nodes(question: Question) -> Impossible | None:
    """Why there cannot be virtual nodes of so many ranks."""
    virtual = int(question.parameters[axes.VIRTUAL_NODE_RANKS.name])
    if virtual < question.ranks:
        return None
    all_of = "all" if virtual == question.ranks else "more than all"
    fewer = "1" if question.ranks == 2 else f"1 to {question.ranks - 1}"
    return Impossible(
        f"--virtual-node-ranks: {virtual} ranks of a virtual node are {all_of} {question.ranks} ranks: give {fewer}"
    )


HYBRID = Benchmark(
    "collectives with one copy of the data per node, against MPI's (Zhou et al. 2020)",
    test="hybrid",
    choices=choices.of_family("hybrid"),
    configurations=("basic",),
    within_a_node=True,
    most_seconds={"smoke": 25, "nightly": 40, "full": 300},
    point_choices=(OPERATIONS, point_choice("hybrid", "message-bytes")),
    impossible=impossible,
)
