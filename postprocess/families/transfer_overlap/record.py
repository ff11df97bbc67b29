"""The records of `transfer_overlap`: points with named fields, checked.

`benchmarks/transfer_overlap/description.json` has the fields that only this family has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from postprocess.families.sampled import Sampling, Times, point_as
from postprocess.records.fields import Nanoseconds, Positive
from postprocess.records.reading import loads
from postprocess.records.record import Record, RecordFile, record_as

FAMILY = "transfer_overlap"


SERIES = ("t_nonoverlap_ns", "t_overlap_ns", "t_comm_ns", "t_comp_ns")
"""The series that every point has."""


@dataclass(frozen=True, kw_only=True)
class TransferPoint(Sampling):
    """One version of the solver on one system. Arrays are int64 nanoseconds, with a value per valid repetition.

    grid_points, unknowns: the points of the grid, and the unknowns of each.  variant: the version of the solver.
    t_nonoverlap_ns: a solve that computes all, then exchanges.  t_overlap_ns: a solve by the version, in the same
    repetition.  t_comm_ns: the exchanges of a solve alone, for a pipelined version with its sums.  t_comp_ns: the
    computation of a solve alone.
    iterations, residual: how the version's solve ends, relative to the first residual.  history: a digest of the bits
    of all its residuals.  reference_iterations, reference_residual: the same of the solve that does not overlap.
    partitioner: what divided the grid.  edge_cut: edges between points of different ranks.  interface_points: points
    with such an edge.  imbalance: points of the largest part, relative to the mean.
    messages, exchanged_bytes: of all ranks in one exchange.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("t_comm_ns", "t_comp_ns", "t_nonoverlap_ns", "t_overlap_ns")

    grid_points: Positive
    unknowns: Positive
    variant: str
    t_nonoverlap_ns: Times
    t_overlap_ns: Times
    t_comm_ns: Nanoseconds
    t_comp_ns: Times
    iterations: int
    residual: float
    history: str
    reference_iterations: int
    reference_residual: float
    partitioner: str
    edge_cut: int
    interface_points: int
    imbalance: float
    messages: int
    exchanged_bytes: int


@dataclass(frozen=True)
class TransferRecord(RecordFile):
    """A record of `transfer_overlap`."""

    points: tuple[TransferPoint, ...]


def transfer_record(record: Record) -> TransferRecord:
    """A record of this family from a record of any family. Raises RecordError where the record does not fit."""
    return record_as(
        TransferRecord,
        record,
        FAMILY,
        lambda point: point_as(TransferPoint, point, ("grid_points", "unknowns", "variant")),
    )


load_transfer_overlap = loads(transfer_record)
