"""The records of `transfer_overlap`: points with named fields, checked.

`results/schema/transfer_overlap-v4.schema.json` defines the fields that only this family has.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from postprocess.families.sampled import Sampling, check_starts, sampling_of
from postprocess.records.fields import Fields, Nanoseconds, fail
from postprocess.records.reading import load_record
from postprocess.records.record import Point, Record, RecordFile, check_family

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

    grid_points: int
    unknowns: int
    variant: str
    t_nonoverlap_ns: Nanoseconds
    t_overlap_ns: Nanoseconds
    t_comm_ns: Nanoseconds
    t_comp_ns: Nanoseconds
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


def load_transfer_overlap(path: Path | str) -> TransferRecord:
    """Read one record file. Raises RecordError like `load_record`, and where it is none of this family."""
    return transfer_record(load_record(path))


def transfer_record(record: Record) -> TransferRecord:
    """A record of this family from a record of any family. Raises RecordError where the record does not fit."""
    check_family(record, FAMILY)
    return TransferRecord(
        path=record.path,
        header=record.header,
        footer=record.footer,
        incomplete=record.incomplete,
        points=tuple(map(_point, record.points)),
    )


def _point(point: Point) -> TransferPoint:
    where, sampling = point.where, sampling_of(point)
    missing = next((name for name in SERIES if name not in point.series), None)
    if missing is not None:
        fail(where, f"series.{missing} is missing")
    check_starts(point)
    for name in ("t_nonoverlap_ns", "t_overlap_ns", "t_comp_ns"):
        if point.series[name].size and not point.series[name].min() > 0:
            fail(where, f"series.{name} has a time of 0")
    parameters, own = Fields(dict(point.parameters), where, "parameters."), Fields(point.own, where)
    return TransferPoint(
        **sampling,
        grid_points=parameters.positive("grid_points"),
        unknowns=parameters.positive("unknowns"),
        variant=parameters.text("variant"),
        t_nonoverlap_ns=point.series["t_nonoverlap_ns"],
        t_overlap_ns=point.series["t_overlap_ns"],
        t_comm_ns=point.series["t_comm_ns"],
        t_comp_ns=point.series["t_comp_ns"],
        iterations=own.count("iterations"),
        residual=own.number("residual"),
        history=own.text("history"),
        reference_iterations=own.count("reference_iterations"),
        reference_residual=own.number("reference_residual"),
        partitioner=own.text("partitioner"),
        edge_cut=own.count("edge_cut"),
        interface_points=own.count("interface_points"),
        imbalance=own.number("imbalance"),
        messages=own.count("messages"),
        exchanged_bytes=own.count("exchanged_bytes"),
    )
