"""The records of `partitioned`: points with named fields, checked.

`benchmarks/partitioned/description.json` has the fields that only this family has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from postprocess.drawing.text import clean
from postprocess.families import axes
from postprocess.families.sampled import LaterSeries, Sampling, Times, point_as
from postprocess.records.fields import Fields, Nanoseconds, Positive, fail
from postprocess.records.reading import loads
from postprocess.records.record import (
    Calibration,
    Point,
    Record,
    RecordFile,
    check_family,
    record_as,
)
from postprocess.statistics.metrics import Estimate, Floats, median_estimate

FAMILY = "partitioned"
OF_COMPUTING = ("t_computing_cpu_ns", "t_computing_waiting_ns")
"""The series that older records lack."""
LATENCY_BYTES = 8
"""The size of the message whose time is the latency."""
_NONE: Nanoseconds = np.array([], dtype=np.int64)
_NAN = np.asarray(math.nan)


@dataclass(frozen=True, kw_only=True)
class PartitionedPoint(Sampling):
    """One buffer that was sent in one way. Arrays are int64 nanoseconds, with a value per valid repetition.

    message_bytes: the buffer for one neighbour, like the numbers of partitions.
    aggregation_bytes: the most bytes of partitions in one message; 0: a message per partition.
    delay_ratio: the planned delay relative to the time of one partition, gamma beta.
    t_ns: the time of the approach, from its start to the completion at the receiver, without the computation (section
    2.1).  t_ref_ns: the same of one message after all partitions are ready, in the same repetition.
    t_delay_ns: D, from the first partition that is ready to the last one.  t_after_last_ns: from the moment when the
    last partition is ready to the completion at the receiver.  start_imbalance_ns: empty without a common clock.
    t_computing_cpu_ns, t_computing_waiting_ns: of the thread that computes longest, while it computes: its CPU time,
    and the time that it waits for a CPU. 0 where the planned delay is too short for that to be read; empty in older
    records.
    delay_target_ns, work_size: the planned D, and the work that gives it.  delay_calibration: None where no work was
    calibrated for it.  delay_guessed: D was planned with a guessed bandwidth, because none could be measured.
    messages: the messages that the approach sends for one buffer, to all neighbours.
    neighbours: the receivers of each sender.  different_neighbours: how many of them are different ranks.
    latency_ns, bytes_per_second: alpha and beta by which the delays were planned, read before the points with one
    message of 8 bytes and one of transfer_bytes; NaN where they were not measured.
    latency_readings_ns, transfer_readings_ns: the times of these messages that were read since the last point, as many
    of one as of the other. Older records have none, and transfer_bytes 0.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("t_ns", "t_ref_ns")

    approach: str
    message_bytes: Positive
    partitions_send: Positive
    partitions_receive: Positive
    aggregation_bytes: int
    delay_ratio: float
    t_ns: Times
    t_ref_ns: Times
    t_delay_ns: Nanoseconds
    t_after_last_ns: Nanoseconds
    t_computing_cpu_ns: LaterSeries
    t_computing_waiting_ns: LaterSeries
    start_imbalance_ns: LaterSeries
    delay_target_ns: int
    work_size: int
    delay_calibration: Calibration | None
    delay_guessed: bool
    messages: Positive
    neighbours: Positive
    different_neighbours: Positive
    latency_ns: float
    bytes_per_second: float
    latency_readings_ns: Nanoseconds
    transfer_readings_ns: Nanoseconds
    transfer_bytes: int


@dataclass(frozen=True)
class Network:
    """Latency alpha and bandwidth beta of a launch, each with its 95 % interval, which is NaN where it is not known."""

    latency_ns: Estimate
    bytes_per_second: Estimate


@dataclass(frozen=True)
class PartitionedRecord(RecordFile):
    """A record of `partitioned`. `approach`, `noise` and `cache` are the same for all its points."""

    approach: str
    noise: str
    cache: str
    points: tuple[PartitionedPoint, ...]

    @cached_property
    def network(self) -> Network:
        """alpha and beta by all readings of the launch: of the medians of both times.

        beta's interval holds both intervals of these times. An older record has the numbers of its first point, without
        intervals.
        """
        latency = median_estimate(_readings(point.latency_readings_ns for point in self.points))
        transfer = median_estimate(_readings(point.transfer_readings_ns for point in self.points))
        if not np.isfinite(latency.value):
            planned = self.points[0] if self.points else None
            known = (planned.latency_ns, planned.bytes_per_second) if planned else (math.nan, math.nan)
            return Network(*(Estimate(np.asarray(value), _NAN, _NAN) for value in known))
        size = max(point.transfer_bytes for point in self.points) - LATENCY_BYTES
        if not transfer.value > latency.value:
            return Network(Estimate(_NAN, _NAN, _NAN), Estimate(_NAN, _NAN, _NAN))
        rates = (
            _rate(size, transfer.value - latency.value),
            _rate(size, transfer.high - latency.low),
            _rate(size, transfer.low - latency.high),
        )
        return Network(latency, Estimate(*rates))


def _readings(parts: Iterable[Nanoseconds]) -> Nanoseconds:
    return np.concatenate([_NONE, *parts])


def _rate(size: int, time_ns: Floats) -> Floats:
    """Bytes per second; NaN where the time is not above 0."""
    return np.asarray(1e9 * size / time_ns) if time_ns > 0 else _NAN


def partitioned_record(record: Record) -> PartitionedRecord:
    """A record of this family from a record of any family. Raises RecordError where the record does not fit."""
    check_family(record, FAMILY)
    header = record.header
    older = {axes.INTERFACES.name: ("usual",), axes.FIGURE.name: ("none",)}  # of records from before they existed
    given = {**older, **header.plan.parameters}
    asked = {axis.name: _only(given, axis.name, header.where) for axis in axes.PARAMETERS[FAMILY]}
    approach, noise, cache = (asked[axis.name] for axis in (axes.APPROACH, axes.NOISE, axes.CACHE))
    return record_as(
        PartitionedRecord,
        record,
        FAMILY,
        lambda point: _point(point, approach),
        approach=approach,
        noise=noise,
        cache=cache,
    )


load_partitioned = loads(partitioned_record)


def _only(asked: Mapping[str, tuple[object, ...]], name: str, where: str) -> str:
    """The value of a parameter that must be the same in all points. Raises RecordError."""
    values = asked.get(name, ())
    if len(values) != 1 or not isinstance(values[0], str):
        fail(where, f"plan.parameters.{name} is not one text")
    return values[0]


def _point(point: Point, approach: str) -> PartitionedPoint:
    where = point.where
    parameters, own = Fields(dict(point.parameters), where, "parameters."), Fields(point.own, where)
    named = parameters.text("approach")
    if named != approach:
        fail(where, f"parameters.approach is {clean(named)}, planned was {clean(approach)}")
    sent, received = parameters.positive("partitions_send"), parameters.positive("partitions_receive")
    if max(sent, received) % min(sent, received):
        fail(where, f"parameters: of {sent} partitions sent and {received} received, none is a multiple of the other")
    older = {"neighbours": 1, "different_neighbours": point.own.get("neighbours", 1), "delay_guessed": False}
    return point_as(
        PartitionedPoint,
        point,
        ("approach", "message_bytes", "partitions_send", "partitions_receive", "aggregation_bytes"),
        older,
        delay_ratio=_from_0(parameters, "delay_ratio"),
        delay_calibration=_calibration(own),
        latency_ns=_above_0_or_nan(own, "latency_ns"),
        bytes_per_second=_above_0_or_nan(own, "bytes_per_second"),
        latency_readings_ns=_readings_of(own, "latency_readings_ns"),
        transfer_readings_ns=_readings_of(own, "transfer_readings_ns", "latency_readings_ns"),
        transfer_bytes=own.positive("transfer_bytes") if "transfer_bytes" in point.own else 0,
    )


def _readings_of(own: Fields, key: str, as_many_as: str = "") -> Nanoseconds:
    """The times of a list; none in older records."""
    if key not in own.value:
        return _NONE
    return own.times(key, len(own.items(as_many_as)) if as_many_as else None)


def _calibration(own: Fields) -> Calibration | None:
    none = own.value.get("delay_calibration", 0) is None
    return None if none else own.inside("delay_calibration").made(Calibration)


def _from_0(line: Fields, key: str) -> float:
    value = line.number(key)
    if value < 0:
        fail(line.where, f"{line.name}{key} is below 0")
    return value


def _above_0_or_nan(line: Fields, key: str) -> float:
    """A number above 0; NaN for null, which says that it is not known."""
    value = line.number_or_nan(key)
    if value <= 0:
        fail(line.where, f"{line.name}{key} is not above 0")
    return value
