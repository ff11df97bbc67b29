"""Whether a row is `valid` and `reliable`, and what else a reader should know about it (`flags`).

valid       There are at least 6 valid repetitions (fewer have no interval) and no wrong result. The times are right.
            Where only memory is measured there are no times, and a row without a wrong result is valid.
reliable    Valid, the case did not fail, and
            * the 95 % interval of the ratio to `mpi` is at most 10 % of the ratio wide;
            * there is a common clock, and its residual is at most 1 % of the shorter solve, a time between ranks;
            * ranks do not share cores: a rank that spins would take the time of the rank that it waits for;
            * each thread of the variant `openmp` ran on one CPU of its own;
            * the nodes are real: over virtual nodes what crosses between them crosses memory;
            * the network is no wire: over one, ranks of a node send in the variant `mpi` and share memory in others.
flags       Worth knowing, but the ratio stands: ranks were started by a barrier, or most repetitions began late; the
            control is off, or there is none.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from postprocess.families import sampled
from postprocess.families.hybrid_kernels.record import OPENMP, KernelPoint, KernelsRecord
from postprocess.records.header import keeps_apart

WIDEST_INTERVAL = 0.10
CLOCK_LIMIT = 0.01


def invalid_reasons(point: KernelPoint, *, memory_only: bool) -> list[str]:
    """Reasons why a point cannot be used at all; empty if it can. memory_only: no times were asked for."""
    reasons = sampled.invalid_reasons(point)
    return [reason for reason in reasons if reason != sampled.NOT_MEASURED] if memory_only else reasons


def doubts(point: KernelPoint, variants: Sequence[str], nodes: str, record: KernelsRecord) -> list[str]:
    """Reasons why a ratio of two variants says nothing about them, however narrow its interval. They include
    `invalid_reasons`.

    variants: those of the ratio.  nodes: as `sampled.nodes_are` says.  record: that of the point.
    """
    reasons = invalid_reasons(point, memory_only=record.memory_only)
    if record.memory_only and not point.repetitions:
        reasons.append("no times: only memory was measured")
    if not point.repetitions:
        return reasons
    shortest = min(float(np.median(point.variants[name].t_ns)) for name in variants)
    reasons += sampled.reasons_of_times(point, CLOCK_LIMIT, shortest, oversubscribed=record.header.oversubscribed)
    if OPENMP in variants and not point.pinned:
        reasons.append("not every thread ran on one CPU of its own")
    if keeps_apart(record.header.network):
        reasons.append("over a wire the variant mpi sends between ranks that share memory in the other variants")
    if nodes in sampled.VIRTUAL_NODES:
        reasons.append(f"the nodes are {nodes}")
    return reasons


def flags(point: KernelPoint, off_by: float) -> Iterator[str]:
    """The flags of a row. off_by: the factor by which its ratios may be off, as its control says."""
    if not point.repetitions:
        return
    yield from sampled.flags_of_start(point)
    if math.isinf(off_by):
        yield "no verdict: there is no control"
    elif off_by > 1:
        yield f"the control is off, pure MPI against itself: verdicts allow for a factor of {off_by:.3f}"
