"""The records of `partitioned`: points with named fields, checked.

`benchmarks/partitioned/description.json` has the fields that only this family has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
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
    """One buffer that was sent in one way (Gillis et al. 2023, section 2.1). Arrays are int64, with a value per valid
    repetition. t_delay_ns is D; latency_ns and bytes_per_second are alpha and beta.

    t_computing_cpu_ns, t_computing_waiting_ns: empty in records that are older than they.  delay_calibration: None
    where no work was calibrated for the delay.
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
    transfer_bytes: Positive


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

        beta's interval holds both intervals of these times.
        """
        latency = median_estimate(_readings(point.latency_readings_ns for point in self.points))
        transfer = median_estimate(_readings(point.transfer_readings_ns for point in self.points))
        size = max((point.transfer_bytes for point in self.points), default=0) - LATENCY_BYTES
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
    asked = {axis.name: header.planned_text(axis.name) for axis in axes.PARAMETERS[FAMILY]}
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


def _point(point: Point, approach: str) -> PartitionedPoint:
    where = point.where
    parameters, own = Fields(dict(point.parameters), where, "parameters."), Fields(point.own, where)
    named = parameters.text("approach")
    if named != approach:
        fail(where, f"parameters.approach is {clean(named)}, planned was {clean(approach)}")
    sent, received = parameters.positive("partitions_send"), parameters.positive("partitions_receive")
    if max(sent, received) % min(sent, received):
        fail(where, f"parameters: of {sent} partitions sent and {received} received, none is a multiple of the other")
    return point_as(
        PartitionedPoint,
        point,
        ("approach", "message_bytes", "partitions_send", "partitions_receive", "aggregation_bytes"),
        delay_ratio=_from_0(parameters, "delay_ratio"),
        delay_calibration=_calibration(own),
        latency_ns=_above_0_or_nan(own, "latency_ns"),
        bytes_per_second=_above_0_or_nan(own, "bytes_per_second"),
        latency_readings_ns=own.times("latency_readings_ns"),
        transfer_readings_ns=own.times("transfer_readings_ns", len(own.items("latency_readings_ns"))),
    )


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
