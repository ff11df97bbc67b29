"""The collectives that are measured, as `operation_table` of `benchmarks/hybrid/operations.c` has them."""

from collections.abc import Mapping
from dataclasses import dataclass

PAPERS_OWN_WAIT, PAPERS_OWN_REDUCTION = "barrier", "paper"


@dataclass(frozen=True)
class Operation:
    """A collective, named as the MPI function.

    figures: of Zhou et al. 2020; empty for a collective that the paper does not have.
    per_rank: a message is the block of one rank; else it is the buffer.
    reduces: ranks read a sum. Then a method says how a node's memory was reduced.
    copies: within a node the MPI library copies alone, and the hybrid library only waits.
    """

    name: str
    figures: str = ""
    per_rank: bool = False
    reduces: bool = False
    copies: bool = False

    @property
    def papers_own(self) -> str:
        """The variant that is the paper's own method (Zhou et al. 2020, sections 5.2.2 to 5.2.4), or, of a collective
        that it does not have, what it does with those that it has."""
        return PAPERS_OWN_REDUCTION if self.reduces else PAPERS_OWN_WAIT


OPERATIONS: Mapping[str, Operation] = {
    one.name: one
    for one in (
        Operation("allgather", "figure 12 of Zhou et al. 2020", per_rank=True, copies=True),
        Operation("bcast", "figure 13 of Zhou et al. 2020", copies=True),
        Operation("allreduce", "figures 14 and 16 of Zhou et al. 2020", reduces=True),
        Operation("reduce_scatter_block", per_rank=True, reduces=True),
        Operation("alltoall", per_rank=True),
    )
}
PAPERS = tuple(name for name, one in OPERATIONS.items() if one.figures)
"""The collectives of the paper."""
