"""The records of `cpu_overhead`: points with named fields, checked.

`results/schema/cpu_overhead-v4.schema.json` defines the fields that only this family has.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from postprocess.records.fields import Fields, Nanoseconds, fail
from postprocess.records.reading import load_record
from postprocess.records.record import Clock, Point, Record, RecordFile, check_family

FAMILY = "cpu_overhead"
SERIES = ("t_wall_ns", "t_cpu_ns", "t_thread_cpu_ns", "voluntary_switches", "involuntary_switches")
"""The series that every point has."""


@dataclass(frozen=True)
class CpuPoint:
    """One blocking collective with one size. Arrays are int64, with a value per valid repetition, of a whole batch.

    operation: the collective.  message_bytes: the buffer, or the block of one rank; 0 for a barrier.
    calls: the calls of a batch.
    t_wall_ns: from the first rank's begin to the last rank's end.  t_cpu_ns: CPU time of the process, on the rank where
    it is largest.  t_thread_cpu_ns: CPU time of the thread that makes the calls, likewise.
    voluntary_switches, involuntary_switches: context switches of the process, likewise.
    cpu_all_ranks_ns: the sum over ranks of each rank's median CPU time of the process; NaN without repetitions.
    """

    index: int
    operation: str
    message_bytes: int
    calls: int
    start_method: str
    repetitions: int
    warmup_repetitions: int
    late_repetitions: int
    discarded_repetitions: int
    stop_reason: str
    interval_relative_reached: float
    data_errors: int
    clock: Clock
    t_wall_ns: Nanoseconds
    t_cpu_ns: Nanoseconds
    t_thread_cpu_ns: Nanoseconds
    voluntary_switches: Nanoseconds
    involuntary_switches: Nanoseconds
    cpu_all_ranks_ns: float


@dataclass(frozen=True)
class CpuRecord(RecordFile):
    """A record of `cpu_overhead`.

    cpu_clock_step_ns: the step in which the CPU clocks advance.  batch_target_ns: the least time of a batch.
    """

    cpu_clock_step_ns: int
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
        batch_target_ns=own.positive("batch_target_ns"),
        points=tuple(map(_point, record.points)),
    )


def _point(point: Point) -> CpuPoint:
    where, clock, n = point.where, point.clock, point.repetitions
    if clock is None or n is None:
        fail(where, f"{'clock' if clock is None else 'repetitions'} is null")
    missing = next((name for name in SERIES if name not in point.series), None)
    if missing is not None:
        fail(where, f"series.{missing} is missing")
    if (clock.method != "none") != ("start_imbalance_ns" in point.series):
        fail(where, "series.start_imbalance_ns does not fit the clock")
    if point.series["t_wall_ns"].size and not point.series["t_wall_ns"].min() > 0:
        fail(where, "series.t_wall_ns has a time of 0")
    if "t_cpu_ns" not in point.rank_medians:
        fail(where, "rank_medians.t_cpu_ns is missing")
    parameters, own = Fields(dict(point.parameters), where, "parameters."), Fields(point.own, where)
    return CpuPoint(
        index=point.index,
        operation=parameters.text("operation"),
        message_bytes=parameters.count("message_bytes"),
        calls=own.positive("calls"),
        start_method=point.start_method,
        repetitions=n,
        warmup_repetitions=point.warmup_repetitions,
        late_repetitions=point.late_repetitions,
        discarded_repetitions=point.discarded_repetitions,
        stop_reason=point.stop_reason,
        interval_relative_reached=point.interval_relative_reached,
        data_errors=point.data_errors,
        clock=clock,
        t_wall_ns=point.series["t_wall_ns"],
        t_cpu_ns=point.series["t_cpu_ns"],
        t_thread_cpu_ns=point.series["t_thread_cpu_ns"],
        voluntary_switches=point.series["voluntary_switches"],
        involuntary_switches=point.series["involuntary_switches"],
        cpu_all_ranks_ns=float(np.sum(point.rank_medians["t_cpu_ns"])) if n else float("nan"),
    )
