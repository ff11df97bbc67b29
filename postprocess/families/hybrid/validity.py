"""Whether a row is `valid` and `reliable`, and what else a reader should know about it (`flags`).

valid       There are at least 6 valid repetitions (fewer have no interval) and no data error. The times are right.
reliable    Valid, the case did not fail, and
            * the 95 % interval of the ratio is at most 10 % of the ratio wide;
            * there is a common clock, and its residual is at most 1 % of the shortest batch, a time between ranks;
            * ranks do not share cores: a rank that spins would take the time of the rank that it waits for;
            * there is no wire between the ranks of a node: the MPI library would send where the hybrid library shares;
            * the nodes are real: over virtual nodes what crosses between them crosses memory.
flags       Worth knowing, but the ratio stands: ranks were started by a barrier, or most repetitions began late; within
            a node an allgather or a bcast alone is no copy.
"""

from collections.abc import Iterator

import numpy as np

from postprocess.families import sampled
from postprocess.families.hybrid.operations import OPERATIONS
from postprocess.families.hybrid.record import HybridPoint
from postprocess.records.header import keeps_apart

WIDEST_INTERVAL = 0.10
CLOCK_LIMIT = 0.01
PAPERS_METHODS = {"reduce": "the paper's method 1", "leader": "the paper's method 2"}


def doubts(
    point: HybridPoint, batches: tuple[str, str], nodes: str, network: str, *, oversubscribed: bool
) -> list[str]:
    """Reasons why a ratio says nothing about the libraries, however narrow its interval. They include
    `invalid_reasons`.

    batches: the batches of the ratio.  nodes: as `sampled.nodes_are` says.
    """
    reasons = sampled.invalid_reasons(point)
    if keeps_apart(network) and point.repetitions:
        reasons.append("over a wire the MPI library sends between ranks that share memory for the hybrid library")
    if not point.repetitions:
        return reasons
    shortest = min(float(np.median(point.t_ns[batch])) for batch in batches)
    reasons += sampled.reasons_of_times(point, CLOCK_LIMIT, shortest, oversubscribed=oversubscribed)
    if nodes in sampled.VIRTUAL_NODES:
        reasons.append(f"the nodes are {nodes}")
    return reasons


def flags(point: HybridPoint, *, alone: bool, shared_nodes: int) -> Iterator[str]:
    """The flags of a row. alone: it has the collective alone."""
    if not point.repetitions:
        return
    if alone and shared_nodes == 1 and OPERATIONS[point.operation].copies:
        yield "a wait against a copy"
    if point.variant == "spin" and point.node_method in PAPERS_METHODS:
        yield f"its own choice is {PAPERS_METHODS[point.node_method]}"
    yield from sampled.flags_of_start(point)
