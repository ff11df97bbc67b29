"""The records of `mpi_impact`: launch by launch, checked.

`benchmarks/mpi_impact/description.json` has the fields that only this family has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from postprocess.drawing.text import clean
from postprocess.records.fields import Fields, Nanoseconds, Positive, fail
from postprocess.records.reading import loads
from postprocess.records.record import Calibration, Point, Record, RecordFile, check_family

FAMILY = "mpi_impact"
MPI_IMPACT, COMPUTE_ALONE = PROGRAMS = ("mpi_impact", "compute_alone")


@dataclass(frozen=True)
class Target:
    """A computation time, and the work that every process of every launch does for it. Times in nanoseconds."""

    comp_target_ns: Positive
    work_size: int
    calibration: Calibration
    warmup_repetitions: int
    repetitions: int
    slot_ns: int


@dataclass(frozen=True)
class Place:
    """Where one rank of one launch ran."""

    host: str
    cpuset: str
    compute_cpusets: tuple[str, ...]


@dataclass(frozen=True)
class Samples:
    """The samples of a computation time in a launch.

    windows_utc_ns: the begin and end of each rank's repetitions, by the time of day.
    t_comp_ns: [rank][repetition].
    """

    windows_utc_ns: tuple[tuple[int, int], ...]
    t_comp_ns: Nanoseconds


@dataclass(frozen=True)
class Launch:
    """A launch of one of `PROGRAMS`, with the samples of every computation time in the order of the targets.

    mpi_thread_cpu_ns, helper_thread_cpu_ns: [rank][thread], the CPU time, while the processes computed, of the threads
    that MPI started and of the application's progress threads.
    """

    index: int
    program: str
    started_utc: str
    wall_seconds: float
    places: tuple[Place, ...]
    mpi_thread_cpu_ns: tuple[tuple[int, ...], ...]
    helper_thread_cpu_ns: tuple[tuple[int, ...], ...]
    points: tuple[Samples, ...]


@dataclass(frozen=True)
class ImpactRecord(RecordFile):
    """A record of all launches of a case.

    planned_launches: the program of each planned launch.  launches: the launches that have all their samples.
    """

    computation: str
    targets: tuple[Target, ...]
    planned_launches: tuple[str, ...]
    launches: tuple[Launch, ...]


def impact_record(record: Record) -> ImpactRecord:
    """An impact record from a record of any family. Raises RecordError where the record does not fit."""
    check_family(record, FAMILY)
    header = record.header
    plan = Fields(header.plan.own, header.where, "plan.")
    targets = tuple(_target(target) for target in plan.each("targets"))
    planned = plan.texts("launches")
    if not targets:
        fail(header.where, "no computation time")
    if not set(planned) <= set(PROGRAMS):
        fail(header.where, f"plan.launches names something else than {' and '.join(PROGRAMS)}")
    launches = tuple(_launches(record, targets, planned))
    footer = record.footer
    if footer is not None and not record.incomplete and len(launches) != len(planned):
        fail(footer.where, f"complete with {len(launches)} of {len(planned)} launches")
    return ImpactRecord(
        path=record.path,
        header=header,
        footer=footer,
        incomplete=record.incomplete,
        computation=header.planned_text("computation"),
        targets=targets,
        planned_launches=planned,
        launches=launches,
    )


load_impact = loads(impact_record)


def _target(line: Fields) -> Target:
    target = line.made(Target, calibration=line.inside("calibration").made(Calibration))
    if target.repetitions < 1:
        fail(line.where, f"{line.name}repetitions is 0")
    return target


def _launches(record: Record, targets: tuple[Target, ...], planned: tuple[str, ...]) -> Iterator[Launch]:
    """Yield the launches that have all their points. A launch that was cut off can only be the last; it is left out."""
    for index, (number, same) in enumerate(groupby(record.points, key=_launch_number)):
        points = list(same)
        where = points[0].where
        if number != index:
            fail(where, f"launch {number} where {index} is next")
        program = Fields(dict(points[0].parameters), where, "parameters.").text("program")
        if index >= len(planned) or program != planned[index]:
            expected = planned[index] if index < len(planned) else "none"
            fail(where, f"launch {index} is of {clean(program)}, planned was {expected}")
        other = next((point for point in points if point.parameters.get("program") != program), None)
        if other is not None:
            fail(other.where, f"a point of another program than {program} in launch {index}")
        launch = Fields(points[0].own, where).inside("launch")
        places = tuple(place.made(Place) for place in launch.each("places"))
        if len(places) != record.header.ranks:
            fail(where, f"{record.header.ranks} ranks, but {len(places)} places")
        if len(points) > len(targets):
            fail(
                points[len(targets)].where, f"a point more than the {len(targets)} computation times of launch {index}"
            )
        samples = tuple(
            _samples(point, target, record.header.ranks) for point, target in zip(points, targets, strict=False)
        )
        parsed = launch.made(Launch, index=index, program=program, places=places, points=samples)
        if len(samples) == len(targets):
            yield parsed


def _launch_number(point: Point) -> int:
    return Fields(dict(point.parameters), point.where, "parameters.").count("launch")


def _samples(point: Point, target: Target, ranks: int) -> Samples:
    parameters = Fields(dict(point.parameters), point.where, "parameters.")
    work = (parameters.count("comp_target_ns"), parameters.count("work_size"))
    if work != (target.comp_target_ns, target.work_size):
        fail(point.where, f"point {point.index} did other work than was planned")
    windows = Fields(point.own, point.where).count_lists("window_utc_ns")
    if len(windows) != ranks or any(len(window) != 2 for window in windows):
        fail(point.where, f"window_utc_ns is not a begin and an end of {ranks} ranks")
    times = (point.rank_samples or {}).get("t_comp_ns")
    if times is None:
        fail(point.where, "rank_samples.t_comp_ns is missing")
    if times.shape[1] != target.repetitions:
        fail(point.where, f"t_comp_ns has {times.shape[1]} values, not {target.repetitions}")
    return Samples(tuple((window[0], window[1]) for window in windows), times)
