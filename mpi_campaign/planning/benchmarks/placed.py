"""The axes whose values follow from the placement of a case's ranks. Every case has them."""

from collections.abc import Mapping, Sequence

from mpi_campaign.libraries.placement import Placement
from mpi_campaign.planning.benchmarks.choice import Choice
from postprocess.families import axes
from postprocess.families.family import Value

_ENTRIES = (
    Choice(axes.NODES, of_placement=lambda placement: placement.nodes),
    Choice(axes.NODE_SET, of_placement=lambda placement: placement.node_set),
    Choice(axes.RANKS_PER_NODE, of_placement=lambda placement: placement.ranks_per_node, if_several=True),
    Choice(axes.CORES_PER_RANK, of_placement=lambda placement: placement.threads_per_rank, if_several=True),
)

PLACED: Mapping[str, Choice] = {choice.name: choice for choice in _ENTRIES}


def values_of(placement: Placement, placements: Sequence[Placement]) -> dict[str, Value]:
    """The values, by axis, that cases on `placement` have in a run with these placements."""
    return {name: _value(choice, placement, placements) for name, choice in PLACED.items()}


def _value(choice: Choice, placement: Placement, placements: Sequence[Placement]) -> Value:
    assert choice.of_placement is not None
    several = len({choice.of_placement(other) for other in placements}) > 1
    return choice.usual if choice.if_several and not several else choice.of_placement(placement)
