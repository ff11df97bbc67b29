"""The axes whose values come from how the ranks of a case are placed: every case has them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mpi_campaign.libraries.placement import Placement
from mpi_campaign.planning.benchmarks.choice import Choice
from postprocess.families import axes
from postprocess.families.family import Value


@dataclass(frozen=True)
class Placed:
    """count: what a placement has of it.
    if_several: cases have that number only where a run has several of them, and the usual value in any other run.
    """

    choice: Choice
    count: Callable[[Placement], int]
    if_several: bool = False

    def value(self, placement: Placement, placements: Sequence[Placement]) -> Value:
        """The value that cases on one of a run's placements have."""
        several = len({self.count(one) for one in placements}) > 1
        return self.choice.usual if self.if_several and not several else self.count(placement)


_ENTRIES = (Placed(Choice(axes.CORES_PER_RANK), lambda placement: placement.threads_per_rank, if_several=True),)

PLACED: Mapping[str, Placed] = {one.choice.name: one for one in _ENTRIES}


def values_of(placement: Placement, placements: Sequence[Placement]) -> dict[str, Value]:
    """By axis, the value that cases on one of a run's placements have."""
    return {name: one.value(placement, placements) for name, one in PLACED.items()}
