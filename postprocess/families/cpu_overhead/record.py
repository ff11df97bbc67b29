"""The records of the program `cpu_overhead`: points with named fields, checked.

`benchmarks/cpu_overhead/description.json` has the fields that only this family has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from postprocess.families.cpu_overhead.axes import FAMILY
from postprocess.families.sampled import Sampling, Times, calls_of, point_as
from postprocess.records.fields import Fields, Nanoseconds, Positive, fail
from postprocess.records.header import Header
from postprocess.records.reading import loads
from postprocess.records.record import Point, Record, RecordFile, record_as

BLOCKING, WORKING, SOAKING, ONCE, LATE, LATE_WORKING = (
    "blocking", "working", "soaking", "once", "late", "late_working",
)  # fmt: skip
"""Ways of spending the time of a collective that differ in what can be said of them."""
WITH_LATE = (LATE, LATE_WORKING)
"""Those in which a rank comes late."""
EVEN_WORKING, SKEWED, SKEWED_WORKING = "even_working", "skewed", "skewed_working"
OUT_OF_STEP = ("even", EVEN_WORKING, SKEWED, SKEWED_WORKING)
"""Those in which all ranks work, before or beside each call: for as long, or each for another time."""


@dataclass(frozen=True, kw_only=True)
class CpuPoint(Sampling):
    """One way of spending the time of one collective with one size, a batch of calls in each repetition.

    lateness_ns: of OUT_OF_STEP the work of a rank in a batch; 0 of the other ways in which no rank comes late.
    cpu_all_ranks_ns: the sum over ranks of each rank's median CPU time of the process; NaN without repetitions.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("t_reference_wall_ns", "t_wall_ns", "t_work_ns")

    operation: str
    message_bytes: int
    communicator_ranks: Positive
    way: str
    lateness_ns: int
    calls: Positive
    reference_calls: Positive
    work_units: int
    t_wall_ns: Times
    t_cpu_ns: Nanoseconds
    t_thread_cpu_ns: Nanoseconds
    voluntary_switches: Nanoseconds
    involuntary_switches: Nanoseconds
    cpu_all_ranks_ns: float
    t_reference_wall_ns: Nanoseconds
    t_reference_cpu_ns: Nanoseconds
    t_user_all_ranks_ns: Nanoseconds
    t_system_all_ranks_ns: Nanoseconds
    t_soaked_all_ranks_ns: Nanoseconds
    t_work_ns: Nanoseconds
    t_node_window_ns: Nanoseconds
    t_node_busy_ns: Nanoseconds
    t_node_softirq_ns: Nanoseconds
    t_node_ranks_ns: Nanoseconds


@dataclass(frozen=True)
class CpuRecord(RecordFile):
    """A record of `cpu_overhead`."""

    cpu_clock_step_ns: Positive
    kernel_tick_ns: int
    node_tick_ns: int
    node_cpus: int
    batch_target_ns: Positive
    points: tuple[CpuPoint, ...]


def cpu_record(record: Record) -> CpuRecord:
    """A record of this family from a record of any family. Raises RecordError where the record does not fit."""
    return record_as(CpuRecord, record, FAMILY, lambda point: _point(point, record.header))


load_cpu_overhead = loads(cpu_record)


def _point(point: Point, header: Header) -> CpuPoint:
    if "t_cpu_ns" not in point.rank_medians:
        fail(point.where, "rank_medians.t_cpu_ns is missing")
    # Records of method 3 do not tell by how much the last rank comes late: it was the least time of a batch.
    late = Fields({"lateness_ns": header.own.get("batch_target_ns"), **point.parameters}, point.where, "parameters.")
    cpu_ns = point.rank_medians["t_cpu_ns"]
    return point_as(
        CpuPoint,
        point,
        ("operation", "message_bytes", "communicator_ranks", "way"),
        calls=calls_of(point, "calls"),
        reference_calls=calls_of(point, "reference_calls"),
        lateness_ns=late.positive("lateness_ns") if point.parameters.get("way") in (*WITH_LATE, *OUT_OF_STEP) else 0,
        cpu_all_ranks_ns=float(np.sum(cpu_ns)) if point.repetitions else float("nan"),
    )
