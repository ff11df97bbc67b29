"""The records of the program `loggp`: messages between two ranks, from which the LogGP parameters are computed.

`benchmarks/cpu_overhead/loggp_description.json` has their fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from postprocess.families.cpu_overhead.axes import FAMILY
from postprocess.families.sampled import Sampling, sampling_of
from postprocess.records.fields import Fields, fail
from postprocess.records.header import Parameter
from postprocess.records.record import Point, Record, RecordFile, record_as
from postprocess.statistics.loggp import Times
from postprocess.statistics.metrics import Floats

LOGGP = "loggp"
"""The name of the program, and of its benchmark."""
SERIES = (
    "t_round_trips_ns", "t_trains_ns", "t_delayed_trains_ns", "t_delays_ns", "t_receives_ns", "t_reductions_hot_ns",
    "t_reductions_cold_ns",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MessagePoint(Sampling):
    """Messages of one size between rank 0 and `partner_rank`.

    pair: within_node or between_nodes.  times: of one exchange, a value per valid repetition.
    is_asked: the size was asked for. Other sizes were measured to find the eager threshold; no line goes through them.
    late_sends: MPI_Send to a receiver that comes late by a delay, relative to the delay, a value per valid repetition;
    empty in records that are older than it.
    round_trips: of each repetition.  part_ns: the time of all of them, of all valid repetitions.
    """

    pair: str
    partner_rank: int
    message_bytes: int
    is_asked: bool
    late_sends: Floats
    round_trips: int
    part_ns: float
    times: Times

    @property
    def part_times(self) -> tuple[Floats, ...]:
        return (self.times.round_trip, self.times.train, self.times.delayed, self.times.receive, self.times.hot)


@dataclass(frozen=True)
class LogGPRecord(RecordFile):
    """A record of `loggp`."""

    points: tuple[MessagePoint, ...]


def loggp_record(record: Record) -> LogGPRecord:
    """A record of this program from a record of any family. Raises RecordError where the record does not fit."""
    asked = record.header.plan.parameters.get("message_bytes", ())
    return record_as(LogGPRecord, record, FAMILY, lambda point: _point(point, asked))


def _point(point: Point, asked: Sequence[Parameter]) -> MessagePoint:
    where, sampling = point.where, sampling_of(point)
    missing = next((name for name in SERIES if name not in point.series), None)
    if missing is not None:
        fail(where, f"series.{missing} is missing")
    parameters, own = Fields(dict(point.parameters), where, "parameters."), Fields(point.own, where)
    message_bytes, messages = parameters.positive("message_bytes"), own.positive("messages_of_train")
    if messages < 2:
        fail(where, f"messages_of_train is {messages}, not at least 2")
    round_trips, trains, reductions = (own.positive(name) for name in ("round_trips", "trains", "reductions"))
    series = point.series
    delay = series["t_delays_ns"] / (trains * (messages - 1))
    sends = series.get("t_sends_ns", np.zeros(0, dtype=np.int64))
    return MessagePoint(
        **sampling,
        pair=parameters.text("pair"),
        partner_rank=own.positive("partner_rank"),
        message_bytes=message_bytes,
        is_asked=message_bytes in asked,
        late_sends=sends / round_trips / delay if sends.size else np.zeros(0),
        round_trips=round_trips,
        part_ns=float(series["t_round_trips_ns"].sum()),
        times=Times(
            message_bytes=message_bytes,
            messages=messages,
            round_trip=series["t_round_trips_ns"] / round_trips,
            train=series["t_trains_ns"] / trains,
            delayed=series["t_delayed_trains_ns"] / trains,
            delay=delay,
            receive=series["t_receives_ns"] / round_trips,
            hot=series["t_reductions_hot_ns"] / reductions,
            cold=series["t_reductions_cold_ns"] / reductions,
        ),
    )
