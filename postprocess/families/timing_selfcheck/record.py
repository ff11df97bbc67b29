"""The records of `timing_selfcheck`: section by section, checked.

`benchmarks/timing_selfcheck/description.json` has the fields that only this family has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from postprocess.records.fields import Fields, FloatOrNan, Nanoseconds, fail
from postprocess.records.reading import loads
from postprocess.records.record import Calibration, Point, Record, RecordFile, check_family

FAMILY = "timing_selfcheck"
COMPUTATION, COMMUNICATION = KINDS = ("computation", "communication")
START_METHODS = ("deadline", "mpi_barrier", "dissemination")


@dataclass(frozen=True)
class Timer:
    """The timer, with the worst values over ranks.

    backwards_ns: the largest step backwards between two readings; a usable clock has 0.
    """

    name: str
    resolution_ns: float
    overhead_ns: float
    backwards_ns: float


@dataclass(frozen=True)
class Residual:
    """The largest clock error over ranks, ``after_seconds`` after the last synchronisation.

    with_drift_ns: corrected by offset and drift.  without_drift_ns: corrected by the offset alone.
    """

    after_seconds: float
    with_drift_ns: FloatOrNan
    without_drift_ns: FloatOrNan


@dataclass(frozen=True)
class Clock:
    """The common clock of the ranks.

    method: shared, interpolated or none.  refusal: why the method is none.  reason: why there are no residuals.
    """

    method: str
    refusal: str
    reason: str
    clocks: int
    rounds: int
    synchronisations: int
    synchronisation_seconds: float
    shortest_trip_ns: FloatOrNan
    drift_ppm: FloatOrNan
    baseline_seconds: FloatOrNan
    residuals: tuple[Residual, ...]


@dataclass(frozen=True)
class Start:
    """The start imbalance of a method: max - min over ranks on the common clock, a value per repetition.

    reason: why there are no values, or fewer than planned.
    """

    method: str
    reason: str
    late: int
    imbalance_ns: Nanoseconds
    late_imbalance_ns: Nanoseconds


@dataclass(frozen=True)
class Noise:
    """The interruptions of a computing thread that only read the clock.

    A detour is a gap between two readings of more than ``threshold_ns``.
    share: the detours' share of the time.
    truncated: whether there were more detours than ``detour_lengths_ns`` has.
    """

    rank: int
    thread: int
    host: str
    cpu: int
    seconds: float
    threshold_ns: float
    detours: int
    share: float
    longest_ns: int
    detour_lengths_ns: Nanoseconds
    truncated: bool


@dataclass(frozen=True)
class Work:
    """An amount of work, repeated in one launch: a computation, or a collective followed by its wait.

    calibration: None where no size could be searched.
    elapsed_ns: the end of each sample, since the beginning of the first repetition. The first ``warmup_repetitions``
    repetitions are not samples.
    reason: why it was not measured.
    """

    kind: str
    target_ns: int
    size: int
    calibration: Calibration | None
    samples_ns: Nanoseconds
    elapsed_ns: Nanoseconds
    warmup_repetitions: int
    late: int
    stop_reason: str
    reason: str


@dataclass(frozen=True)
class Selfcheck(RecordFile):
    """The record of a launch. ``wall_seconds`` is NaN if the launch was cut off."""

    timer: Timer | None
    clock: Clock | None
    starts: tuple[Start, ...]
    noises: tuple[Noise, ...]
    works: tuple[Work, ...]
    wall_seconds: float


def selfcheck_record(record: Record) -> Selfcheck:
    """A self-check record from a record of any family. Raises RecordError where the record does not fit."""
    check_family(record, FAMILY)
    by_section: dict[str, list[Any]] = {section: [] for section in _READERS}
    for point in record.points:
        section = Fields(dict(point.parameters), point.where, "parameters.").text("section")
        if section not in _READERS:
            fail(point.where, f"section is none of {', '.join(_READERS)}")
        by_section[section].append(_READERS[section](point))
    return Selfcheck(
        path=record.path,
        header=record.header,
        footer=record.footer,
        incomplete=record.incomplete,
        timer=next(iter(by_section["timer"]), None),
        clock=next(iter(by_section["clock"]), None),
        starts=tuple(by_section["start"]),
        noises=tuple(by_section["noise"]),
        works=tuple(by_section["work"]),
        wall_seconds=math.nan if record.footer is None else record.footer.wall_seconds,
    )


load_selfcheck = loads(selfcheck_record)


def _parts(point: Point) -> tuple[Fields, Fields]:
    """The parameters of a point, and its fields that only this family has."""
    return Fields(dict(point.parameters), point.where, "parameters."), Fields(point.own, point.where)


def _timer(point: Point) -> Timer:
    _, line = _parts(point)
    return line.made(Timer)


def _clock(point: Point) -> Clock:
    _, line = _parts(point)
    return line.made(Clock, residuals=tuple(one.made(Residual) for one in line.each("residuals")))


def _start(point: Point) -> Start:
    parameters, line = _parts(point)
    method = parameters.text("method")
    if method not in START_METHODS:
        fail(point.where, f"method is none of {', '.join(START_METHODS)}")
    imbalance = point.series.get("start_imbalance_ns", np.array([], dtype=np.int64))
    return Start(method, line.text("reason"), point.late_repetitions, imbalance, line.times("late_imbalance_ns"))


def _noise(point: Point) -> Noise:
    parameters, line = _parts(point)
    return line.made(Noise, **parameters.read(Noise, ("rank", "thread")), cpu=int(line.number("cpu")))  # -1: not known


def _work(point: Point) -> Work:
    parameters, line = _parts(point)
    kind = parameters.text("kind")
    if kind not in KINDS:
        fail(point.where, f"kind is neither {' nor '.join(KINDS)}")
    for name in ("t_ns", "elapsed_ns"):
        if name not in point.series:
            fail(point.where, f"series.{name} is missing")
    return line.made(
        Work,
        **parameters.read(Work, ("kind", "target_ns", "size")),
        calibration=None if line.value.get("calibration", 0) is None else _calibration(line.inside("calibration")),
        samples_ns=point.series["t_ns"],
        elapsed_ns=point.series["elapsed_ns"],
        warmup_repetitions=point.warmup_repetitions,
        late=point.late_repetitions,
        stop_reason=point.stop_reason,
    )


def _calibration(line: Fields) -> Calibration:
    return Calibration(line.text("status"), int(line.number("time_ns")), line.number("error_relative"))


_READERS: Mapping[str, Callable[[Point], Any]] = {
    "timer": _timer,
    "clock": _clock,
    "start": _start,
    "noise": _noise,
    "work": _work,
}
