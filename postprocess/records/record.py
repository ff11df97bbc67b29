"""A record as dataclasses: its points and its last line, the same for every family of benchmarks.

What a family's points hold (which parameters, which series) and what is in ``own``, the family's own module says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from postprocess.drawing.text import clean
from postprocess.records.fields import Fields, Json, Nanoseconds, fail
from postprocess.records.header import Header, Parameter
from postprocess.records.storage import record_name

GIVEN = "given"
"""Status of a calibration that there was none of: the size came from a file."""


@dataclass(frozen=True)
class Calibration:
    """How well a size meets its target: ``error_relative`` is (time - target) / target, ``time_ns`` 0 if unknown."""

    status: str
    time_ns: int
    error_relative: float


@dataclass(frozen=True)
class Clock:
    """What a point was timed on: ``shared``, ``interpolated`` or ``none``. A residual of None is unknown, never 0."""

    method: str
    residual_ns: float | None
    synchronisations: int | None
    drift_ppm: float | None


@dataclass(frozen=True)
class Spread:
    """A term that every rank times, over ranks: a value per repetition, in nanoseconds but for max_rank."""

    min: Nanoseconds
    median: Nanoseconds
    max: Nanoseconds
    max_rank: Nanoseconds


@dataclass(frozen=True, kw_only=True)
class Point:
    """One thing that was measured. Arrays are int64 nanoseconds, by the name of what they hold. What a program does not
    tell has the default.

    ``parameters``: what it is. ``series``: over all ranks, a value per repetition that counts; ``warmup``: the same of
    those that do not. ``rank_medians``: a value per rank. ``thread_medians``: [rank][thread]; ``rank_samples``:
    [rank][repetition]; both None where the record was written without.

    ``repetitions`` is None where another's program does not tell. ``stop_reason`` is empty where nothing stops it but
    its number of repetitions; ``interval_relative_reached`` is NaN without an interval. ``start_method`` is empty, and
    ``clock`` None, where no times of different ranks are compared. ``where`` is ``file:line``, for errors.
    """

    index: int
    parameters: Mapping[str, Parameter]
    repetitions: int | None
    warmup_repetitions: int = 0
    late_repetitions: int = 0
    discarded_repetitions: int = 0
    stop_reason: str = ""
    interval_relative_reached: float = math.nan
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
    "between": "between repetitions (messages filled in and checked, starts agreed on)",
    "warm_up": "warm-up",
    "thrown_away": "repetitions that were thrown away",
    "clock": "clocks",
    "start_up": "start",
}
"""Where the wall time of a launch went beside repetitions that count, for people; what is left is its end."""


@dataclass(frozen=True, kw_only=True)
class Footer:
    """The last line: ``mpi_thread_cpu_ns`` is [rank][thread] CPU time of the threads that MPI started, nanoseconds;
    those of the header's placement first, then any that it started later.

    ``helper_thread_cpu_ns`` is that of the application's progress threads; before version 3 there were none.
    ``tcp_bytes_sent`` is what each rank's TCP connections carried. ``clock_refusal`` says why there is no clock any
    more. ``spent_seconds`` is where the wall time went beside repetitions that count, by the names of `SPENT`. None is
    what is not known, by version 1 for example, or by another's program.
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
    """A record as every family sees it, whatever it makes of the points: a file, whole or not.

    ``incomplete`` says why it is not whole; it is empty when it is.
    """

    path: Path
    header: Header
    footer: Footer | None
    incomplete: str

    @property
    def complete(self) -> bool:
        """Whether the file ends with a footer that says so."""
        return not self.incomplete

    @property
    def name(self) -> str:
        """The record's path inside a run folder, as the manifest's cases name it."""
        return record_name(self.path)

    @property
    def family(self) -> str:
        """What it is a measurement of."""
        return self.header.family


@dataclass(frozen=True)
class Record(RecordFile):
    """One record file, of any family."""

    points: tuple[Point, ...]


def calibration_of(line: Fields) -> Calibration:
    """The calibration that `line` is."""
    return Calibration(line.text("status"), line.count("time_ns"), line.number("error_relative"))


def check_family(record: RecordFile, family: str) -> None:
    """Raise RecordError where a record is of another family."""
    if record.family != family:
        fail(record.header.where, f"a record of {clean(record.family)}, not of {family}")
