"""The records of `nbc_overlap`: points with named fields, checked.

`benchmarks/nbc_overlap/description.json` has the fields that only this family has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from postprocess.families.sampled import LaterSeries, Sampling, point_as
from postprocess.records.fields import Fields, Nanoseconds, fail
from postprocess.records.header import Header
from postprocess.records.reading import loads
from postprocess.records.record import (
    GIVEN,
    Calibration,
    Point,
    Record,
    RecordFile,
    Spread,
    check_family,
    record_as,
)
from postprocess.records.run import Run, Views, views_of

FAMILY = "nbc_overlap"
MOST_TIMES_OFF = 800
"""The largest plausible factor between a time and another measurement of the same work; units differ by 1000."""
MOST_TIMES_APART = 400
"""The largest plausible factor between two accounts of one measurement; in the same unit it is below 2."""


@dataclass(frozen=True)
class Warmup:
    """The times of the warm-up repetitions, which were thrown away."""

    t_measured_ns: Nanoseconds
    t_comm_ref_ns: Nanoseconds
    t_comp_ref_ns: Nanoseconds


@dataclass(frozen=True)
class Reference:
    """How a reference time changed. A field is None with too few repetitions.

    change_relative, p_value: its trend over the point.
    moved_relative: its median over the time for which its size was calibrated, minus 1.
    """

    change_relative: float | None
    p_value: float | None
    moved_relative: float | None


@dataclass(frozen=True)
class RankSamples:
    """Every rank's own samples, int64 nanoseconds of shape (ranks, repetitions)."""

    t_call_ns: Nanoseconds
    t_comp_ns: Nanoseconds
    t_test_ns: Nanoseconds
    t_wait_ns: Nanoseconds
    t_comm_ref_ns: Nanoseconds
    t_comp_ref_ns: Nanoseconds


@dataclass(frozen=True)
class ThreadMedians:
    """Each computing thread's median time from the start of the computation, int64 nanoseconds, (ranks, threads)."""

    t_comp_ns: Nanoseconds
    t_comp_ref_ns: Nanoseconds


@dataclass(frozen=True, kw_only=True)
class OverlapPoint(Sampling):
    """One cell of the sweep. Arrays are int64 nanoseconds, with a value per valid repetition; ``rank_*`` per rank.

    ``work_size`` is the work of each computing thread: the order of its matrices (dgemm), or its elements (triad).
    Without a common clock (``clock.method`` none) ``start_imbalance_ns`` is empty, and all other times over ranks are
    the largest of the ranks' own durations. ``t_test_ns`` is the time inside all MPI_Test calls of a repetition.
    ``rank_mpi_ns`` is t_call + t_test + t_wait. ``rank_samples`` and ``thread_medians`` are None where the record does
    not have them.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("t_comm_ref_ns", "t_comp_ref_ns", "t_measured_ns")

    collective: str
    comm_target_ns: int
    comp_target_ns: int
    message_bytes: int
    work_size: int
    comm_calibration: Calibration
    comp_calibration: Calibration
    buffer_sets: int
    recalibrations: int
    test_calls: int
    comm_reference: Reference
    comp_reference: Reference
    warmup: Warmup
    t_measured_ns: Nanoseconds
    t_comm_ref_ns: Nanoseconds
    t_comp_ref_ns: Nanoseconds
    t_call_ns: Spread
    t_comp_ns: Spread
    t_test_ns: Spread
    t_wait_ns: Spread
    start_imbalance_ns: LaterSeries
    rank_mpi_ns: Nanoseconds
    rank_comm_ref_ns: Nanoseconds
    rank_comp_ns: Nanoseconds
    rank_comp_ref_ns: Nanoseconds
    rank_samples: RankSamples | None
    thread_medians: ThreadMedians | None


@dataclass(frozen=True)
class OverlapRecord(RecordFile):
    """A record of `nbc_overlap`.

    ``planned_*`` are the collectives and the target times of the planned grid. ``cache`` is ``warm`` or ``cold``.
    ``interval_relative`` is the requested width of the medians' intervals, relative to the medians.
    """

    points: tuple[OverlapPoint, ...]
    planned_collectives: tuple[str, ...]
    planned_comm_targets_ns: tuple[int, ...]
    planned_comp_targets_ns: tuple[int, ...]
    cache: str
    computation: str
    test_interval_ns: int
    interval_relative: float

    @property
    def collectives(self) -> tuple[str, ...]:
        """The planned collectives in their order, then collectives of points that were not planned."""
        return tuple(dict.fromkeys((*self.planned_collectives, *(p.collective for p in self.points))))


def overlaps_of(run: Run) -> Views[OverlapRecord]:
    """The records of this family in a run."""
    return views_of(run, FAMILY, overlap_record)


def overlap_record(record: Record) -> OverlapRecord:
    """An overlap record from a record of any family. Raises RecordError where the record does not fit."""
    check_family(record, FAMILY)
    header, plan = record.header, record.header.plan
    asked = Fields({name: list(values) for name, values in plan.parameters.items()}, header.where, "plan.parameters.")
    if len(intervals := asked.counts("test_interval_ns")) != 1:
        fail(asked.where, "plan.parameters.test_interval_ns is not one number")
    return record_as(
        OverlapRecord,
        record,
        FAMILY,
        _point,
        planned_collectives=asked.texts("collective"),
        planned_comm_targets_ns=asked.counts("comm_target_ns"),
        planned_comp_targets_ns=asked.counts("comp_target_ns"),
        cache=header.planned_text("cache"),
        computation=header.planned_text("computation"),
        test_interval_ns=intervals[0],
        interval_relative=_interval_relative(header),
    )


load_overlap = loads(overlap_record)


def _interval_relative(header: Header) -> float:
    if header.plan.interval_relative is None:
        fail(header.where, "plan.interval_relative is not a number")
    return header.plan.interval_relative


def message_sizes(record: OverlapRecord) -> str:
    """A digest of a record's message sizes and of the times for which they were calibrated.

    Records with the same sizes and times have the same digest.
    """
    cells = sorted(
        (p.collective, p.comm_target_ns, p.comp_target_ns, p.message_bytes, p.comm_calibration.time_ns)
        for p in record.points
    )
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]


def _point(point: Point) -> OverlapPoint:
    where, own = point.where, Fields(point.own, point.where)
    spreads, medians = (_Named(where, part, getattr(point, part)) for part in ("spreads", "rank_medians"))
    overlap_point = point_as(
        OverlapPoint,
        point,
        ("collective", "comm_target_ns", "comp_target_ns", "message_bytes", "work_size"),
        comm_calibration=own.inside("comm_calibration").made(Calibration),
        comp_calibration=own.inside("comp_calibration").made(Calibration),
        comm_reference=_reference(own, "comm"),
        comp_reference=_reference(own, "comp"),
        warmup=_warmup(point),
        **{name: spreads[name] for name in ("t_call_ns", "t_comp_ns", "t_test_ns", "t_wait_ns")},
        **{f"rank_{name}": medians[f"t_{name}"] for name in ("mpi_ns", "comm_ref_ns", "comp_ns", "comp_ref_ns")},
        rank_samples=_rank_samples(point),
        thread_medians=_thread_medians(point),
    )
    _check_units(where, overlap_point)
    return overlap_point


_NONE = np.array([], dtype=np.int64)


class _Named:
    """The values of a part of a point by name. A missing name raises a RecordError that says which one is missing."""

    def __init__(self, where: str, part: str, values: Mapping[str, Any]) -> None:
        self.where, self.part, self.values = where, part, values

    def __getitem__(self, name: str) -> Any:
        if name not in self.values:
            fail(self.where, f"{self.part}.{name} is missing")
        return self.values[name]


def _reference(own: Fields, term: str) -> Reference:
    drift = own.inside("reference_drift").inside(term)
    change, p_value = drift.number_or_none("change_relative"), drift.number_or_none("p_value")
    return Reference(change, p_value, own.inside("reference_moved").number_or_none(term))


def _warmup(point: Point) -> Warmup:
    if not point.warmup:
        return Warmup(_NONE, _NONE, _NONE)
    values = _Named(point.where, "warmup", point.warmup)
    return Warmup(values["t_measured_ns"], values["t_comm_ref_ns"], values["t_comp_ref_ns"])


def _rank_samples(point: Point) -> RankSamples | None:
    if point.rank_samples is None:
        return None
    values = _Named(point.where, "rank_samples", point.rank_samples)
    terms = ("t_call_ns", "t_comp_ns", "t_test_ns", "t_wait_ns", "t_comm_ref_ns", "t_comp_ref_ns")
    return RankSamples(*(values[name] for name in terms))


def _thread_medians(point: Point) -> ThreadMedians | None:
    if point.thread_medians is None:
        return None
    values = _Named(point.where, "thread_medians", point.thread_medians)
    return ThreadMedians(values["t_comp_ns"], values["t_comp_ref_ns"])


def _check_units(where: str, point: OverlapPoint) -> None:
    """Fail if a series seems to have another unit than the other times on its line."""
    references_ns = 0.0
    for term, calibration, moved, samples, ranks in (
        ("comm", point.comm_calibration, point.comm_reference, point.t_comm_ref_ns, point.rank_comm_ref_ns),
        ("comp", point.comp_calibration, point.comp_reference, point.t_comp_ref_ns, point.rank_comp_ref_ns),
    ):
        name, chosen = f"t_{term}_ref_ns", f"{term}_calibration.time_ns"
        # A given size may be of another network and be faster by any factor; `moved_relative` then tells by how much.
        if calibration.status != GIVEN or moved.moved_relative is None:
            _check_unit(where, name, samples, f"{chosen} is", calibration.time_ns, MOST_TIMES_OFF, np.inf)
        if moved.moved_relative is not None:
            stood_for = calibration.time_ns * (1 + moved.moved_relative)
            _check_unit(where, name, samples, f"by {chosen} and reference_moved.{term} they are", stood_for)
        # A different rank may be the slowest in each repetition, so that no rank is slow in its median.
        _check_unit(where, name, samples, f"rank_medians.{name} are up to", float(np.max(ranks)), times_more=np.inf)
        references_ns += _median(samples)
    parts = point.t_call_ns.max.astype(np.float64)
    for part in (point.t_comp_ns.max, point.t_test_ns.max, point.t_wait_ns.max, point.start_imbalance_ns):
        parts += part if part.size else 0
    name, samples, most = "t_measured_ns", point.t_measured_ns, MOST_TIMES_OFF
    _check_unit(where, name, samples, "their parts together", _median(parts))
    _check_unit(where, name, samples, "t_comm_ref_ns and t_comp_ref_ns together", references_ns, most, most)


def _check_unit(
    where: str,
    name: str,
    samples: Nanoseconds,
    other: str,
    other_ns: float,
    times_less: float = MOST_TIMES_APART,
    times_more: float = MOST_TIMES_APART,
) -> None:
    """Fail if the median of a series is below `other_ns` / `times_less` or above `other_ns` * `times_more`.

    A time of 0 means that it is not known, and is not checked.
    """
    median_ns = _median(samples)
    if min(median_ns, other_ns) > 0 and not other_ns / times_less <= median_ns <= other_ns * times_more:
        fail(where, f"{name} are about {median_ns:.0f}, {other} {other_ns:.0f}: they are not of one unit")


def _median(samples: NDArray[Any]) -> float:
    return float(np.median(samples)) if samples.size else 0.0
