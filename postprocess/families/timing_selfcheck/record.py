"""Read the records of `timing_selfcheck` into dataclasses.

The format is `results/schema/selfcheck-v1.schema.json`: JSON Lines, a header, a line per thing that was looked at, a
footer. A file that was cut off (no footer, half a last line) or refused (``complete: false``) still loads and says so.
Anything else that is wrong is a `RecordError` of one line, ``file:line: what is wrong``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from postprocess.drawing.text import clean
from postprocess.records.fields import Fields, Json, Nanoseconds, fail, lines_of
from postprocess.records.load import Calibration

SCHEMA = "mpi-campaign.selfcheck"
VERSION = 1
COMPUTATION, COMMUNICATION = KINDS = ("computation", "communication")
START_METHODS = ("deadline", "mpi_barrier", "dissemination")


@dataclass(frozen=True)
class Header:
    """What ran, and where. ``raw`` is the line itself."""

    toolchain: str
    provider: str
    network: str
    started_utc: str
    ranks: int
    nodes: int
    threads_per_rank: int
    oversubscribed: bool
    raw: Json = field(repr=False)


@dataclass(frozen=True)
class Timer:
    """The worst over ranks. ``backwards_ns`` is how far a reading ever lay before the one before it: 0, or no clock."""

    name: str
    resolution_ns: float
    overhead_ns: float
    backwards_ns: float


@dataclass(frozen=True)
class Residual:
    """What was left of the clocks' error, the largest over ranks, so long after the last synchronisation.

    With the drift that the synchronisations found, and with the offset alone.
    """

    after_seconds: float
    with_drift_ns: float
    without_drift_ns: float


@dataclass(frozen=True)
class Clock:
    """How the ranks' clocks were made one. ``method``: shared, interpolated or none; ``refusal`` says why none.

    ``reason`` says why there are no residuals.
    """

    method: str
    refusal: str
    reason: str
    clocks: int
    rounds: int
    synchronisations: int
    synchronisation_seconds: float
    shortest_trip_ns: float
    drift_ppm: float
    baseline_seconds: float
    residuals: tuple[Residual, ...]


@dataclass(frozen=True)
class Start:
    """How far apart ranks started by one method: max - min over ranks on the common clock, a value per repetition.

    ``reason`` says why there are none, or fewer.
    """

    method: str
    reason: str
    late: int
    imbalance_ns: Nanoseconds
    late_imbalance_ns: Nanoseconds


@dataclass(frozen=True)
class Noise:
    """What took time from one computing thread that did nothing but read the clock.

    A detour is a gap between readings of more than ``threshold_ns``; ``share`` is their part of all the time.
    ``truncated``: there were more detours than ``detour_lengths_ns`` has.
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
    """One amount of work, again and again in one launch: a computation, or a collective followed by its wait.

    ``reason`` says why it was not measured; ``calibration`` is None where nothing could be searched. ``elapsed_ns``:
    when each sample was over, since the first repetition began, of which ``warmup_repetitions`` are not samples.
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
class Selfcheck:
    """One launch. ``incomplete`` says why it is not whole; it is empty when it is."""

    path: Path
    header: Header
    timer: Timer | None
    clock: Clock | None
    starts: tuple[Start, ...]
    noises: tuple[Noise, ...]
    works: tuple[Work, ...]
    incomplete: str
    wall_seconds: float


def load_selfcheck(path: Path | str) -> Selfcheck:
    """Read one record of `timing_selfcheck`.

    Raises RecordError where the file is unreadable, foreign, of a newer version, or wrong in any way but being cut off.
    """
    path = Path(path)
    header: Header | None = None
    found: dict[str, list[Any]] = {kind: [] for kind in _READERS}
    incomplete, wall_seconds, ended = "no footer: the measurement was cut off", float("nan"), False
    for where, value in lines_of(path):
        if header is None:
            if value is None:
                fail(where, "cut off before the end of the header")
            header = _header(Fields(value, where))
            continue
        if value is None:
            incomplete = "the last line is cut"
            continue
        if ended:
            fail(where, "a line after the footer")
        line = Fields(value, where)
        kind = str(value.get("type"))
        if kind in _READERS:
            found[kind].append(_READERS[kind](line))
        elif kind == "footer":
            ended, wall_seconds = True, line.number("wall_seconds")
            incomplete = "" if line.flag("complete") else line.text("reason") or "the footer says: not complete"
        else:
            fail(where, "not a line of a self-check")
    if header is None:
        fail(f"{clean(path.name)}:1", "the file is empty")
    return Selfcheck(
        path=path,
        header=header,
        timer=next(iter(found["timer"]), None),
        clock=next(iter(found["clock"]), None),
        starts=tuple(found["start"]),
        noises=tuple(found["noise"]),
        works=tuple(found["work"]),
        incomplete=incomplete,
        wall_seconds=wall_seconds,
    )


def _header(line: Fields) -> Header:
    if line.value.get("type") != "header" or line.value.get("schema") != SCHEMA:
        fail(line.where, "not the record of a self-check: its first line is no header")
    version = line.count("schema_version")
    if version != VERSION:
        newer = f"newer than {VERSION}, the newest that this program reads" if version > VERSION else "not known"
        fail(line.where, f"schema version {version} is {newer}")
    return Header(
        toolchain=line.text("toolchain"),
        provider=line.text("provider"),
        network=line.text("network"),
        started_utc=line.text("started_utc"),
        ranks=line.count("ranks"),
        nodes=line.count("nodes"),
        threads_per_rank=line.count("threads_per_rank"),
        oversubscribed=line.flag("oversubscribed"),
        raw=line.value,
    )


def _timer(line: Fields) -> Timer:
    return Timer(
        line.text("name"), line.number("resolution_ns"), line.number("overhead_ns"), line.number("backwards_ns")
    )


def _clock(line: Fields) -> Clock:
    return Clock(
        method=line.text("method"),
        refusal=line.text("refusal"),
        reason=line.text("reason"),
        clocks=line.count("clocks"),
        rounds=line.count("rounds"),
        synchronisations=line.count("synchronisations"),
        synchronisation_seconds=line.number("synchronisation_seconds"),
        shortest_trip_ns=line.number_or_nan("shortest_trip_ns"),
        drift_ppm=line.number_or_nan("drift_ppm"),
        baseline_seconds=line.number_or_nan("baseline_seconds"),
        residuals=tuple(
            Residual(
                one.number("after_seconds"), one.number_or_nan("with_drift_ns"), one.number_or_nan("without_drift_ns")
            )
            for one in line.each("residuals")
        ),
    )


def _start(line: Fields) -> Start:
    method = line.text("method")
    if method not in START_METHODS:
        fail(line.where, f"method is none of {', '.join(START_METHODS)}")
    return Start(
        method, line.text("reason"), line.count("late"), line.times("imbalance_ns"), line.times("late_imbalance_ns")
    )


def _noise(line: Fields) -> Noise:
    return Noise(
        rank=line.count("rank"),
        thread=line.count("thread"),
        host=line.text("host"),
        cpu=int(line.number("cpu")),  # -1: not known
        seconds=line.number("seconds"),
        threshold_ns=line.number("threshold_ns"),
        detours=line.count("detours"),
        share=line.number("share"),
        longest_ns=line.count("longest_ns"),
        detour_lengths_ns=line.times("detour_lengths_ns"),
        truncated=line.flag("truncated"),
    )


def _work(line: Fields) -> Work:
    kind = line.text("kind")
    if kind not in KINDS:
        fail(line.where, f"kind is neither {' nor '.join(KINDS)}")
    return Work(
        kind=kind,
        target_ns=line.count("target_ns"),
        size=line.count("size"),
        calibration=None if line.value.get("calibration", 0) is None else _calibration(line.inside("calibration")),
        samples_ns=line.times("samples_ns"),
        elapsed_ns=line.times("elapsed_ns"),
        warmup_repetitions=line.count("warmup_repetitions"),
        late=line.count("late"),
        stop_reason=line.text("stop_reason"),
        reason=line.text("reason"),
    )


def _calibration(line: Fields) -> Calibration:
    return Calibration(line.text("status"), int(line.number("time_ns")), line.number("error_relative"))


_READERS: Mapping[str, Callable[[Fields], Any]] = {
    "timer": _timer,
    "clock": _clock,
    "start": _start,
    "noise": _noise,
    "work": _work,
}
