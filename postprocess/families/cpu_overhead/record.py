"""The records of the program `cpu_overhead`: points with named fields, checked.

`results/schema/cpu_overhead-v4.schema.json` defines the fields that only this family has.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from postprocess.families.cpu_overhead.axes import FAMILY
from postprocess.families.sampled import Sampling, check_starts, sampling_of
from postprocess.records.fields import Fields, Nanoseconds, fail
from postprocess.records.header import Header
from postprocess.records.reading import load_record
from postprocess.records.record import Point, Record, RecordFile, check_family

SERIES = ("t_wall_ns", "t_cpu_ns", "t_thread_cpu_ns", "voluntary_switches", "involuntary_switches")
"""The series that every point has."""
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

    operation: str
    message_bytes: int
    communicator_ranks: int
    way: str
    lateness_ns: int
    calls: int
    reference_calls: int
    work_units: int
    t_wall_ns: Nanoseconds
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
    """A record of `cpu_overhead`.

    cpu_clock_step_ns: the step in which the CPU clocks advance.  batch_target_ns: the least time of a batch.
    kernel_tick_ns: the time between two looks of the kernel, from which it divides CPU times; 0 where it is not known.
    node_tick_ns, node_cpus: the unit of the CPU times of the machine of rank 0, and its CPUs; 0 where not known.
    """

    cpu_clock_step_ns: int
    kernel_tick_ns: int
    node_tick_ns: int
    node_cpus: int
    batch_target_ns: int
    points: tuple[CpuPoint, ...]


def load_cpu_overhead(path: Path | str) -> CpuRecord:
    """Read one record file. Raises RecordError like `load_record`, and where it is none of this family."""
    return cpu_record(load_record(path))


def cpu_record(record: Record) -> CpuRecord:
    """A record of this family from a record of any family. Raises RecordError where the record does not fit."""
    check_family(record, FAMILY)
    own = Fields(dict(record.header.own), record.header.where, "own.")
    return CpuRecord(
        path=record.path,
        header=record.header,
        footer=record.footer,
        incomplete=record.incomplete,
        cpu_clock_step_ns=own.positive("cpu_clock_step_ns"),
        kernel_tick_ns=_count_or_0(own, "kernel_tick_ns"),
        node_tick_ns=_count_or_0(own, "node_tick_ns"),
        node_cpus=_count_or_0(own, "node_cpus"),
        batch_target_ns=(target_ns := own.positive("batch_target_ns")),
        points=tuple(_point(point, record.header, target_ns) for point in record.points),
    )


def _count_or_0(own: Fields, name: str) -> int:
    """A number of the header's own part, which older records do not have."""
    return own.count(name) if name in own.value else 0


def _lateness_ns(parameters: Fields, target_ns: int) -> int:
    """Of a point of `late`; older records do not tell, and it was the least time of a batch."""
    return parameters.positive("lateness_ns") if "lateness_ns" in parameters.value else target_ns


def _point(point: Point, header: Header, target_ns: int) -> CpuPoint:
    where, sampling = point.where, sampling_of(point)
    needed = (*SERIES, *(LATER_SERIES if header.method > 1 else ()))
    missing = next((name for name in needed if name not in point.series), None)
    if missing is not None:
        fail(where, f"series.{missing} is missing")
    check_starts(point)
    if point.series["t_wall_ns"].size and not point.series["t_wall_ns"].min() > 0:
        fail(where, "series.t_wall_ns has a time of 0")
    if "t_cpu_ns" not in point.rank_medians:
        fail(where, "rank_medians.t_cpu_ns is missing")
    parameters, own = Fields(dict(point.parameters), where, "parameters."), Fields(point.own, where)
    calls = own.positive("calls")
    none = np.zeros(0, dtype=np.int64)
    way = parameters.text("way") if header.method > 1 else BLOCKING
    return CpuPoint(
        **sampling,
        operation=parameters.text("operation"),
        message_bytes=parameters.count("message_bytes"),
        communicator_ranks=parameters.positive("communicator_ranks") if header.method > 1 else header.ranks,
        way=way,
        lateness_ns=_lateness_ns(parameters, target_ns) if way == LATE else 0,
        calls=calls,
        reference_calls=own.positive("reference_calls") if header.method > 1 else calls,
        work_units=own.count("work_units") if header.method > 1 else 0,
        t_wall_ns=point.series["t_wall_ns"],
        t_cpu_ns=point.series["t_cpu_ns"],
        t_thread_cpu_ns=point.series["t_thread_cpu_ns"],
        voluntary_switches=point.series["voluntary_switches"],
        involuntary_switches=point.series["involuntary_switches"],
        cpu_all_ranks_ns=float(np.sum(point.rank_medians["t_cpu_ns"])) if sampling["repetitions"] else float("nan"),
        t_reference_wall_ns=point.series.get("t_reference_wall_ns", none),
        t_reference_cpu_ns=point.series.get("t_reference_cpu_ns", none),
        t_user_all_ranks_ns=point.series.get("t_user_all_ranks_ns", none),
        t_system_all_ranks_ns=point.series.get("t_system_all_ranks_ns", none),
        t_soaked_all_ranks_ns=point.series.get("t_soaked_all_ranks_ns", none),
        t_work_ns=point.series.get("t_work_ns", none),
        t_node_window_ns=point.series.get("t_node_window_ns", none),
        t_node_busy_ns=point.series.get("t_node_busy_ns", none),
        t_node_softirq_ns=point.series.get("t_node_softirq_ns", none),
        t_node_ranks_ns=point.series.get("t_node_ranks_ns", none),
    )
