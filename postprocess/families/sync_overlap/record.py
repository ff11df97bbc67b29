"""The records of `sync_overlap`: points with named fields, checked.

`results/schema/sync_overlap-v4.schema.json` defines the fields that only this family has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.families.sampled import Sampling, check_starts, sampling_of
from postprocess.records.fields import Fields, Nanoseconds, fail
from postprocess.records.reading import load_record
from postprocess.records.record import Point, Record, RecordFile, check_family

FAMILY = "sync_overlap"
SERIES = (
    "t_recv_ns", "t_wait_ns", "t_whole_recv_ns", "t_whole_send_ns", "t_round_trip_ns",
    "t_receiver_recv_ns", "t_receiver_wait_ns", "arrived_neither_bytes", "arrived_sender_bytes",
)  # fmt: skip
"""The series that every point has."""


@dataclass(frozen=True, kw_only=True)
class SyncPoint(Sampling):
    """One message size. Arrays are int64, with a value per valid repetition; moments are since the common start.

    t_recv_ns: when MPI_Recv completed.  t_wait_ns: when the sender called MPI_Wait.
    t_whole_recv_ns, t_whole_send_ns: in the reference, when MPI_Recv completed and when MPI_Isend was called.
    t_round_trip_ns: the time of a message of nothing, there and back.
    t_receiver_recv_ns, t_receiver_wait_ns: like the first two, where the receiver is inside MPI from the beginning.
    arrived_neither_bytes, arrived_sender_bytes: bytes in the receive buffer after a delay in which neither rank, and
    only the sender, was inside MPI.
    delay_ns: what the delay was chosen for.  delay_units: its work.
    t_isend_ns, t_delay_ns: the sender's median time in MPI_Isend, and the receiver's median delay; NaN without
    repetitions.
    idle_pss_total_bytes, idle_pss_largest_bytes: memory (PSS) of all ranks, and of the rank with the most, before the
    points, when every pair had exchanged a message; NaN where the kernel does not tell.  idle_pss_anonymous_bytes,
    idle_pss_shared_bytes: of the first, memory of one process each, and shared memory; NaN also in older records.
    """

    message_bytes: int
    delay_ns: int
    delay_units: int
    t_recv_ns: Nanoseconds
    t_wait_ns: Nanoseconds
    t_whole_recv_ns: Nanoseconds
    t_whole_send_ns: Nanoseconds
    t_round_trip_ns: Nanoseconds
    t_receiver_recv_ns: Nanoseconds
    t_receiver_wait_ns: Nanoseconds
    arrived_neither_bytes: Nanoseconds
    arrived_sender_bytes: Nanoseconds
    t_isend_ns: float
    t_delay_ns: float
    idle_pss_total_bytes: float
    idle_pss_largest_bytes: float
    idle_pss_anonymous_bytes: float
    idle_pss_shared_bytes: float


@dataclass(frozen=True)
class SyncRecord(RecordFile):
    """A record of `sync_overlap`.

    sender, receiver: their ranks.  asked: the sizes that were asked for; the others lie where the outcome changes.
    bisects: whether sizes between those were to be measured.
    """

    sender: int
    receiver: int
    asked: frozenset[int]
    bisects: bool
    points: tuple[SyncPoint, ...]


def load_sync_overlap(path: Path | str) -> SyncRecord:
    """Read one record file. Raises RecordError like `load_record`, and where it is none of this family."""
    return sync_record(load_record(path))


def sync_record(record: Record) -> SyncRecord:
    """A record of this family from a record of any family. Raises RecordError where the record does not fit."""
    check_family(record, FAMILY)
    own = Fields(dict(record.header.own), record.header.where, "own.")
    sender, receiver = own.count("sender"), own.count("receiver")
    sizes = record.header.plan.parameters.get("message_bytes", ())
    return SyncRecord(
        path=record.path,
        header=record.header,
        footer=record.footer,
        incomplete=record.incomplete,
        sender=sender,
        receiver=receiver,
        asked=frozenset(size for size in sizes if isinstance(size, int)),
        bisects=own.flag("bisects"),
        points=tuple(_point(point, sender, receiver) for point in record.points),
    )


def _point(point: Point, sender: int, receiver: int) -> SyncPoint:
    where, sampling = point.where, sampling_of(point)
    missing = next((name for name in SERIES if name not in point.series), None)
    if missing is not None:
        fail(where, f"series.{missing} is missing")
    check_starts(point)
    medians = {name: point.rank_medians.get(name) for name in ("t_isend_ns", "t_delay_ns")}
    for name, by_rank in medians.items():
        if by_rank is None or len(by_rank) <= max(sender, receiver):
            fail(where, f"rank_medians.{name} is missing, or has no value of the sender or of the receiver")
    parameters, own = Fields(dict(point.parameters), where, "parameters."), Fields(point.own, where)
    message_bytes = parameters.count("message_bytes")
    for name in ("arrived_neither_bytes", "arrived_sender_bytes"):
        if point.series[name].size and point.series[name].max() > message_bytes:
            fail(where, f"series.{name} has more bytes than the message")
    series: dict[str, Any] = {name: point.series[name] for name in SERIES}
    return SyncPoint(
        message_bytes=message_bytes,
        delay_ns=own.positive("delay_ns"),
        delay_units=own.positive("delay_units"),
        **sampling,
        **series,
        t_isend_ns=_of_rank(medians["t_isend_ns"], sender, sampling["repetitions"]),
        t_delay_ns=_of_rank(medians["t_delay_ns"], receiver, sampling["repetitions"]),
        idle_pss_total_bytes=own.number_or_nan("idle_pss_total_bytes"),
        idle_pss_largest_bytes=own.number_or_nan("idle_pss_largest_bytes"),
        idle_pss_anonymous_bytes=_number_or_nan(own, "idle_pss_anonymous_bytes"),
        idle_pss_shared_bytes=_number_or_nan(own, "idle_pss_shared_bytes"),
    )


def _number_or_nan(own: Fields, name: str) -> float:
    """A number that older records do not have."""
    return own.number_or_nan(name) if name in own.value else math.nan


def _of_rank(medians: Nanoseconds | None, rank: int, repetitions: int) -> float:
    return float(np.asarray(medians)[rank]) if repetitions else float("nan")
