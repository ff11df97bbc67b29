"""A record as dataclasses: its points and its last line, the same for every family of benchmarks.

The module of a family says which parameters and series its points have, and what is in ``own``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from postprocess.drawing.text import clean
from postprocess.records.fields import Fields, FloatOrNan, Json, Nanoseconds, fail
from postprocess.records.header import Header, Parameter
from postprocess.records.storage import record_name

GIVEN = "given"
"""The status of a calibration that was not made, because the size came from a file."""


@dataclass(frozen=True)
class Calibration:
    """How well a size meets its target: ``error_relative`` is (time - target) / target, ``time_ns`` 0 if unknown."""

    status: str
    time_ns: int
    error_relative: float


@dataclass(frozen=True)
class Clock:
    """The clock that a point was timed on: ``shared``, ``interpolated`` or ``none``. A residual of None is unknown."""

    method: str
    residual_ns: float | None
    synchronisations: int | None
    drift_ppm: float | None


@dataclass(frozen=True)
class Spread:
    """How a term that every rank times differs over ranks: arrays with a value per repetition, in nanoseconds.

    ``max_rank`` is the rank that took longest.
    """

    min: Nanoseconds
    median: Nanoseconds
    max: Nanoseconds
    max_rank: Nanoseconds


@dataclass(frozen=True, kw_only=True)
class Point:
    """One thing that was measured. Arrays are int64, in nanoseconds. What a program does not tell has the default.

    ``parameters`` say what was measured. ``series`` have a value over all ranks for each repetition that counts,
    ``warmup`` for each warm-up repetition. ``rank_medians`` have a value per rank. ``thread_medians`` are of shape
    (ranks, threads), ``rank_samples`` of shape (ranks, repetitions); both are None where the record was written without
    them.

    ``repetitions`` is None where a program of others does not tell. ``stop_reason`` is empty where the number of
    repetitions was fixed; ``interval_relative_reached`` is NaN without an interval. ``start_method`` is empty, and
    ``clock`` None, where no times of different ranks are compared. ``where`` is ``file:line``, for errors.
    """

    index: int
    parameters: Mapping[str, Parameter]
    repetitions: int | None
    warmup_repetitions: int = 0
    late_repetitions: int = 0
    discarded_repetitions: int = 0
    stop_reason: str = ""
    interval_relative_reached: FloatOrNan = math.nan
    data_errors: int = 0
    start_method: str = ""
    clock: Clock | None = None
    series: Mapping[str, Nanoseconds] = field(default_factory=dict)
    warmup: Mapping[str, Nanoseconds] = field(default_factory=dict)
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    rank_medians: Mapping[str, Nanoseconds] = field(default_factory=dict)
    thread_medians: Mapping[str, Nanoseconds] | None = None
    rank_samples: Mapping[str, Nanoseconds] | None = None
    own: Json = field(default_factory=dict)
    where: str = field(default="", repr=False, compare=False)


SPENT: Mapping[str, str] = {
    "calibration": "calibration",
    "between": "between repetitions (starts agreed on and waited for, messages checked)",
    "warm_up": "warm-up",
    "thrown_away": "repetitions that were thrown away",
    "clock": "clocks",
    "start_up": "start",
}
"""Parts of a launch's wall time beside the repetitions that count: words for people. The rest is the launch's end."""


@dataclass(frozen=True, kw_only=True)
class Footer:
    """The last line: ``mpi_thread_cpu_ns`` is [rank][thread] CPU time of the threads that MPI started, nanoseconds;
    those of the header's placement first, then any that it started later.

    ``helper_thread_cpu_ns`` is that of the application's progress threads.
    ``tcp_bytes_sent`` is what each rank's TCP connections carried. ``clock_refusal`` says why there is no clock any
    more. ``spent_seconds`` is where the wall time went beside repetitions that count, by the names of `SPENT`. A field
    is None where it is not known, as of a program of others.
    """

    complete: bool
    reason: str
    wall_seconds: float
    measured_seconds: float | None = None
    spent_seconds: Mapping[str, float] | None = None
    clock_residual_ns: float | None = None
    clock_synchronisations: int | None = None
    clock_synchronisation_seconds: float | None = None
    clock_refusal: str = ""
    mpi_thread_cpu_ns: tuple[tuple[int, ...], ...] = ()
    helper_thread_cpu_ns: tuple[tuple[int, ...], ...] = ()
    tcp_bytes_sent: tuple[int | None, ...] | None = None
    own: Json = field(default_factory=dict)
    where: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True)
class RecordFile:
    """What the views of all families have of a record: the file, its header and its footer.

    ``incomplete`` says why the record is not whole; it is empty where the record is whole.
    """

    path: Path
    header: Header
    footer: Footer | None
    incomplete: str

    @property
    def complete(self) -> bool:
        """Whether the record is whole: it ends with a footer that says so."""
        return not self.incomplete

    @property
    def name(self) -> str:
        """The record's path inside a run folder, as the manifest's cases name it."""
        return record_name(self.path)

    @property
    def family(self) -> str:
        """The name of the family of benchmarks."""
        return self.header.family


@dataclass(frozen=True)
class Record(RecordFile):
    """One record file, of any family."""

    points: tuple[Point, ...]


def check_family(record: RecordFile, family: str) -> None:
    """Raise RecordError where a record is of another family."""
    if record.family != family:
        fail(record.header.where, f"a record of {clean(record.family)}, not of {family}")


View = TypeVar("View", bound=RecordFile)


def record_as(
    kind: type[View],
    record: Record,
    family: str,
    point: Callable[[Point], Any],
    older: Mapping[str, Any] | None = None,
    /,
    **given: Any,
) -> View:
    """A family's own type of record: what is not given is read of the header's own part, as `Fields.made` does.

    point: makes a point of `points`.  older: what older records lack. Raises RecordError where the record is of another
    family, or does not fit.
    """
    check_family(record, family)
    file = {one.name: getattr(record, one.name) for one in fields(RecordFile)}
    own = Fields({**(older or {}), **record.header.own}, record.header.where, "own.")
    return own.made(kind, **file, points=tuple(map(point, record.points)), **given)
