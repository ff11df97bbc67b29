"""The records of `sync_overlap`: points with named fields, checked.

`benchmarks/sync_overlap/description.json` has the fields that only this family has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from postprocess.families.sampled import Sampling, point_as
from postprocess.records.fields import Fields, FloatOrNan, Nanoseconds, Positive, fail
from postprocess.records.reading import loads
from postprocess.records.record import Point, Record, RecordFile, record_as

FAMILY = "sync_overlap"


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

    PARTS: ClassVar[tuple[str, ...]] = ("t_recv_ns", "t_whole_recv_ns", "t_round_trip_ns")

    message_bytes: int
    delay_ns: Positive
    delay_units: Positive
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
    idle_pss_total_bytes: FloatOrNan
    idle_pss_largest_bytes: FloatOrNan
    idle_pss_anonymous_bytes: FloatOrNan
    idle_pss_shared_bytes: FloatOrNan


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


def sync_record(record: Record) -> SyncRecord:
    """A record of this family from a record of any family. Raises RecordError where the record does not fit."""
    own = Fields(record.header.own, record.header.where, "own.")
    sizes = record.header.plan.parameters.get("message_bytes", ())
    return record_as(
        SyncRecord,
        record,
        FAMILY,
        lambda point: _point(point, own.count("sender"), own.count("receiver")),
        asked=frozenset(size for size in sizes if isinstance(size, int)),
    )


load_sync_overlap = loads(sync_record)


def _point(point: Point, sender: int, receiver: int) -> SyncPoint:
    medians = {"t_isend_ns": sender, "t_delay_ns": receiver}
    made = point_as(
        SyncPoint,
        point,
        ("message_bytes",),
        dict.fromkeys(("idle_pss_anonymous_bytes", "idle_pss_shared_bytes")),
        **{name: _of_rank(point, name, rank, max(sender, receiver)) for name, rank in medians.items()},
    )
    for name in ("arrived_neither_bytes", "arrived_sender_bytes"):
        if point.series[name].size and point.series[name].max() > made.message_bytes:
            fail(point.where, f"series.{name} has more bytes than the message")
    return made


def _of_rank(point: Point, name: str, rank: int, last_rank: int) -> float:
    by_rank = point.rank_medians.get(name)
    if by_rank is None or len(by_rank) <= last_rank:
        fail(point.where, f"rank_medians.{name} is missing, or has no value of the sender or of the receiver")
    return float(by_rank[rank]) if point.repetitions else math.nan
