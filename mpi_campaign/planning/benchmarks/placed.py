"""The axes whose values follow from the placement of a case's ranks. Every case has them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mpi_campaign.libraries.placement import Placement
from mpi_campaign.planning.benchmarks.choice import Choice
from postprocess.families import axes
from postprocess.families.family import Value


@dataclass(frozen=True)
class Placed:
    """of: returns the value of the axis that a placement has.
    if_several: cases have that value only in a run whose placements differ in it; else they have the usual value.
    """

    choice: Choice
    of: Callable[[Placement], Value]
    if_several: bool = False

    def value(self, placement: Placement, placements: Sequence[Placement]) -> Value:
        """The value that cases on `placement` have in a run with these placements."""
        several = len({self.of(other) for other in placements}) > 1
        return self.choice.usual if self.if_several and not several else self.of(placement)


_ENTRIES = (
    Placed(Choice(axes.NODES), lambda placement: placement.nodes),
    Placed(Choice(axes.NODE_SET), lambda placement: placement.node_set),
    Placed(Choice(axes.RANKS_PER_NODE), lambda placement: placement.ranks_per_node, if_several=True),
    Placed(Choice(axes.CORES_PER_RANK), lambda placement: placement.threads_per_rank, if_several=True),
)

PLACED: Mapping[str, Placed] = {entry.choice.name: entry for entry in _ENTRIES}


def values_of(placement: Placement, placements: Sequence[Placement]) -> dict[str, Value]:
    """The values, by axis, that cases on `placement` have in a run with these placements."""
    return {name: axis.value(placement, placements) for name, axis in PLACED.items()}
