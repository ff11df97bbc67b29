"""The records of the program `cpu_overhead`: points with named fields, checked.

`benchmarks/cpu_overhead/description.json` has the fields that only this family has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from postprocess.families.cpu_overhead.axes import FAMILY
from postprocess.families.sampled import LaterSeries, Sampling, Times, point_as, times_of
from postprocess.records.fields import Fields, Nanoseconds, Positive, fail
from postprocess.records.header import Header
from postprocess.records.reading import loads
from postprocess.records.record import Point, Record, RecordFile, record_as

LATER_SERIES = (
    "t_reference_wall_ns", "t_reference_cpu_ns", "t_user_all_ranks_ns", "t_system_all_ranks_ns",
    "t_soaked_all_ranks_ns", "t_work_ns",
)  # fmt: skip
"""The series that points have since method 2."""
BLOCKING, WORKING, SOAKING, ONCE, LATE = "blocking", "working", "soaking", "once", "late"
"""Ways of spending the time of a collective that differ in what can be said of them."""


@dataclass(frozen=True, kw_only=True)
class CpuPoint(Sampling):
    """One way of spending the time of one collective with one size.

    Arrays are int64, with a value per valid repetition, of a whole batch.

    operation: the collective.  message_bytes: the buffer, or the block of one rank; 0 for a barrier.
    communicator_ranks: the ranks that took part.  way: one of `axes.WAY`.
    lateness_ns: of `late`, by how much the last rank comes late: in records of method 3 or less, by the time of a
    batch; else 0.
    calls, reference_calls: the calls of a batch, and of the reference's.  work_units: the work beside a call.
    t_wall_ns: from the first rank's begin to the last rank's end.  t_cpu_ns: CPU time of the process, on the rank where
    it is largest; of `late` without the rank that comes late.  t_thread_cpu_ns: CPU time of the thread that makes the
    calls, likewise.
    voluntary_switches, involuntary_switches: context switches of the process, likewise.
    cpu_all_ranks_ns: the sum over ranks of each rank's median CPU time of the process; NaN without repetitions.

    The rest is empty in records of method 1:
    t_reference_wall_ns, t_reference_cpu_ns: of the reference's batch.
    t_user_all_ranks_ns, t_system_all_ranks_ns: the CPU time of all ranks together, in their own code and in the kernel.
    t_soaked_all_ranks_ns: the CPU time of the threads of lowest priority, of all ranks together.
    t_work_ns: the work of a batch alone, on the slowest rank.

    The rest is also empty in records that are older than it. It is about the machine of rank 0:
    t_node_window_ns: from before the common start to the end of the batch.
    t_node_busy_ns, t_node_softirq_ns: the CPU time of all its CPUs meanwhile, in all and in soft interrupts.
    t_node_ranks_ns: of that, the CPU time of the ranks.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("t_reference_wall_ns", "t_wall_ns", "t_work_ns")

    operation: str
    message_bytes: int
    communicator_ranks: int
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
    t_reference_wall_ns: LaterSeries
    t_reference_cpu_ns: LaterSeries
    t_user_all_ranks_ns: LaterSeries
    t_system_all_ranks_ns: LaterSeries
    t_soaked_all_ranks_ns: LaterSeries
    t_work_ns: LaterSeries
    t_node_window_ns: LaterSeries
    t_node_busy_ns: LaterSeries
    t_node_softirq_ns: LaterSeries
    t_node_ranks_ns: LaterSeries


@dataclass(frozen=True)
class CpuRecord(RecordFile):
    """A record of `cpu_overhead`.

    cpu_clock_step_ns: the step in which the CPU clocks advance.  batch_target_ns: the least time of a batch.
    kernel_tick_ns: the time between two looks of the kernel, from which it divides CPU times; 0 where it is not known.
    node_tick_ns, node_cpus: the unit of the CPU times of the machine of rank 0, and its CPUs; 0 where not known.
    """

    cpu_clock_step_ns: Positive
    kernel_tick_ns: int
    node_tick_ns: int
    node_cpus: int
    batch_target_ns: Positive
    points: tuple[CpuPoint, ...]


def cpu_record(record: Record) -> CpuRecord:
    """A record of this family from a record of any family. Raises RecordError where the record does not fit."""
    older = dict.fromkeys(("kernel_tick_ns", "node_tick_ns", "node_cpus"), 0)
    return record_as(CpuRecord, record, FAMILY, lambda point: _point(point, record.header), older)


load_cpu_overhead = loads(cpu_record)


def _point(point: Point, header: Header) -> CpuPoint:
    for name in (*LATER_SERIES,) if header.method > 1 else ():
        times_of(point, name, above_0=False)
    if "t_cpu_ns" not in point.rank_medians:
        fail(point.where, "rank_medians.t_cpu_ns is missing")
    own = Fields(point.own, point.where)
    parameters = Fields(dict(point.parameters), point.where, "parameters.")
    way = parameters.text("way") if header.method > 1 else BLOCKING
    # Older records do not tell by how much the last rank comes late: it was the least time of a batch.
    late = Fields({"lateness_ns": header.own.get("batch_target_ns"), **point.parameters}, point.where, "parameters.")
    cpu_ns = point.rank_medians["t_cpu_ns"]
    return point_as(
        CpuPoint,
        point,
        ("operation", "message_bytes"),
        {"work_units": 0, "reference_calls": own.positive("calls")} if header.method == 1 else {},
        communicator_ranks=parameters.positive("communicator_ranks") if header.method > 1 else header.ranks,
        way=way,
        lateness_ns=late.positive("lateness_ns") if way == LATE else 0,
        cpu_all_ranks_ns=float(np.sum(cpu_ns)) if point.repetitions else float("nan"),
    )
