"""Read the records of what an idle MPI library costs a computation into dataclasses.

The format is `results/schema/impact-v1.schema.json`: JSON Lines, a header, every launch followed by its points, a
footer. A file that was cut off (no footer, half a last line) or ended early (``complete: false``) still loads and says
so. Anything else that is wrong is a `RecordError` of one line, ``file:line: what is wrong``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

from postprocess.drawing.text import clean
from postprocess.records.fields import Fields, Json, Nanoseconds, RecordError, fail, lines_of
from postprocess.records.load import (
    IMPACT_SCHEMA,
    SCHEMA_FOLDER,
    Calibration,
    Placement,
    Progress,
    Run,
    calibration_of,
    placement_of,
    progress_of,
    schema_of,
)
from postprocess.records.storage import record_name

VERSION = 1
MPI_IMPACT, COMPUTE_ALONE = PROGRAMS = ("mpi_impact", "compute_alone")
_LIKE_RECORD = 3  # the version of the record whose placement and progress the header has


@dataclass(frozen=True)
class Target:
    """One computation time, and what every process of every launch does for it. Times in nanoseconds."""

    comp_target_ns: int
    work_size: int
    calibration: Calibration
    warmup_repetitions: int
    repetitions: int
    slot_ns: int


@dataclass(frozen=True)
class Header:
    """What ran, and where. ``launches`` are those that were planned, by program. ``raw`` is the line itself."""

    benchmark: str
    toolchain: str
    provider: str
    configuration: str
    network: str
    started_utc: str
    mpi_library_version: str
    mpi_standard: str
    thread_level_required: str
    thread_level_provided: str
    ranks: int
    nodes: int
    threads_per_rank: int
    physical_cores: int
    oversubscribed: bool
    shared_core: bool
    progress: Progress
    placement: tuple[Placement, ...]
    computation: str
    targets: tuple[Target, ...]
    launches: tuple[str, ...]
    command_line: tuple[str, ...]
    environment: dict[str, str]
    mpi_variables: dict[str, str]
    build: Json
    metadata: Json
    raw: Json = field(repr=False)


@dataclass(frozen=True)
class Place:
    """Where one rank of one launch ran."""

    host: str
    cpuset: str
    compute_cpusets: tuple[str, ...]


@dataclass(frozen=True)
class Samples:
    """One computation time in one launch: windows[rank] begin and end, time of day; t_comp_ns[rank][repetition]."""

    windows_utc_ns: tuple[tuple[int, int], ...]
    t_comp_ns: tuple[Nanoseconds, ...]


@dataclass(frozen=True)
class Launch:
    """One launch of one of the programs, with the samples of every computation time that got that far, in their order.

    ``mpi_thread_cpu_ns`` and ``helper_thread_cpu_ns`` are [rank][thread]: CPU time, while the processes computed, of
    the threads that MPI started, and of the application's progress threads.
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
class ImpactRecord:
    """One record file. ``launches`` holds whole ones only; ``incomplete`` says why the file is not, empty if it is."""

    path: Path
    header: Header
    launches: tuple[Launch, ...]
    wall_seconds: float | None
    incomplete: str

    @property
    def complete(self) -> bool:
        """Whether the file ends with a footer that says so."""
        return not self.incomplete

    @property
    def name(self) -> str:
        """The record's path inside a run folder, as the manifest's cases name it."""
        return record_name(self.path)


def load_impact(path: Path | str) -> ImpactRecord:
    """Read one record file.

    Raises RecordError where it is unreadable, foreign, of a newer version, or wrong in any way but being cut off.
    """
    path = Path(path)
    header: Header | None = None
    launches: list[Launch] = []
    points: list[Samples] = []
    wall_seconds: float | None = None
    ended = False
    incomplete = "no footer: the measurement was cut off"
    for where, value in lines_of(path):
        line = Fields(value or {}, where)
        if header is None:
            if value is None:
                fail(where, "cut off before the end of the header")
            header = _header(line)
        elif value is None:
            incomplete = "the last line is cut"
        elif ended:
            fail(where, "a line after the footer")
        elif value.get("type") == "footer":
            ended = True
            wall_seconds = line.number("wall_seconds")
            incomplete = (
                "" if line.flag("complete") else line.text("reason") or "the footer says that it is not complete"
            )
            if not incomplete and len(launches) != len(header.launches):
                fail(where, f"complete with {len(launches)} of {len(header.launches)} launches")
        elif value.get("type") == "launch":
            _finish(launches, points, header)
            launches.append(_launch(line, header, len(launches)))
            points = []
        elif value.get("type") == "point":
            if not launches:
                fail(where, "a point before the first launch")
            points.append(_point(line, header, launches[-1].index, len(points)))
        else:
            fail(where, "neither a launch, a point nor a footer")
    if header is None:
        fail(f"{clean(path.name)}:1", "the file is empty")
    _finish(launches, points, header)
    return ImpactRecord(path, header, tuple(launches), wall_seconds, incomplete)


def impacts_of(run: Run) -> tuple[tuple[ImpactRecord, ...], tuple[str, ...]]:
    """Every impact record of a run that can be read, and one line about each that cannot."""
    records: list[ImpactRecord] = []
    problems: list[str] = []
    for path in run.others:
        if schema_of(path) != IMPACT_SCHEMA:
            continue
        try:
            records.append(load_impact(path))
        except RecordError as error:
            problems.append(str(error))
    return tuple(records), tuple(problems)


def validate_impact(path: Path | str) -> None:
    """Check every line of a record file against its JSON schema, and load it. Needs `jsonschema`.

    Raises RecordError at the first line that does not conform or is cut. A missing footer is no fault.
    """
    validate_lines(path)
    load_impact(path)


def validate_lines(path: Path | str) -> None:
    """`validate_impact` without loading: for the files of the programs as well, which are made of the same lines."""
    import jsonschema  # noqa: PLC0415 - only this needs it

    path = Path(path)
    schema = json.loads((SCHEMA_FOLDER / f"impact-v{VERSION}.schema.json").read_text(encoding="utf-8"))
    kinds = [entry["$ref"].rpartition("/")[2] for entry in schema["oneOf"]]
    validators = {
        kind: jsonschema.Draft202012Validator({**schema["$defs"][kind], "$defs": schema["$defs"]}) for kind in kinds
    }
    for where, value in lines_of(path):
        if value is None:
            fail(where, "the last line is cut")
        validator = validators.get(str(value.get("type")))
        if validator is None:
            fail(where, f"none of {', '.join(kinds)}")
        fault = next(iter(sorted(validator.iter_errors(value), key=lambda e: list(map(str, e.absolute_path)))), None)
        if fault is not None:
            fail(where, clean(f"{'.'.join(map(str, fault.absolute_path)) or 'line'}: {fault.message}")[:300])


def _finish(launches: list[Launch], points: list[Samples], header: Header) -> None:
    """Give the last launch its points; one that lacks some was cut off, and does not count."""
    if launches and not launches[-1].points:
        last = launches.pop()
        if len(points) == len(header.targets):
            launches.append(replace(last, points=tuple(points)))


def _header(line: Fields) -> Header:
    if line.value.get("type") != "header" or line.value.get("schema") != IMPACT_SCHEMA:
        fail(line.where, f"not a record of {IMPACT_SCHEMA}: its first line is no header")
    version = line.count("schema_version")
    if version != VERSION:
        newer = "newer than" if version > VERSION else "not"
        fail(line.where, f"schema version {version} is {newer} {VERSION}, which this program reads")
    plan = line.inside("plan")
    header = Header(
        benchmark=line.text("benchmark"),
        toolchain=line.text("toolchain"),
        provider=line.text("provider"),
        configuration=line.text("configuration"),
        network=line.text("network"),
        started_utc=line.text("started_utc"),
        mpi_library_version=line.text("mpi_library_version"),
        mpi_standard=line.text("mpi_standard"),
        thread_level_required=line.text("thread_level_required"),
        thread_level_provided=line.text("thread_level_provided"),
        ranks=line.count("ranks"),
        nodes=line.count("nodes"),
        threads_per_rank=line.positive("threads_per_rank"),
        physical_cores=line.count("physical_cores"),
        oversubscribed=line.flag("oversubscribed"),
        shared_core=line.flag("shared_core"),
        progress=progress_of(line, _LIKE_RECORD),
        placement=tuple(placement_of(rank, _LIKE_RECORD) for rank in line.each("placement")),
        computation=plan.text("computation"),
        targets=tuple(_target(target) for target in plan.each("targets")),
        launches=plan.texts("launches"),
        command_line=line.texts("command_line"),
        environment=line.strings("environment"),
        mpi_variables=line.strings("mpi_variables"),
        build=line.mapping("build"),
        metadata={} if line.value.get("metadata") is None else line.mapping("metadata"),
        raw=line.value,
    )
    if not 0 < header.ranks == len(header.placement):
        fail(line.where, f"{header.ranks} ranks, but {len(header.placement)} placements")
    if not header.targets:
        fail(line.where, "no computation time")
    if not set(header.launches) <= set(PROGRAMS):
        fail(line.where, f"plan.launches names something else than {' and '.join(PROGRAMS)}")
    return header


def _target(line: Fields) -> Target:
    target = Target(
        comp_target_ns=line.positive("comp_target_ns"),
        work_size=line.count("work_size"),
        calibration=calibration_of(line.inside("calibration")),
        warmup_repetitions=line.count("warmup_repetitions"),
        repetitions=line.count("repetitions"),
        slot_ns=line.count("slot_ns"),
    )
    if target.repetitions < 1:
        fail(line.where, f"{line.name}repetitions is 0")
    return target


def _launch(line: Fields, header: Header, index: int) -> Launch:
    if line.count("launch") != index:
        fail(line.where, f"launch {line.count('launch')} where {index} is next")
    program = line.text("program")
    if index >= len(header.launches) or program != header.launches[index]:
        planned = header.launches[index] if index < len(header.launches) else "none"
        fail(line.where, f"launch {index} is of {clean(program)}, planned was {planned}")
    launch = Launch(
        index=index,
        program=program,
        started_utc=line.text("started_utc"),
        wall_seconds=line.number("wall_seconds"),
        places=tuple(
            Place(place.text("host"), place.text("cpuset"), place.texts("compute_cpusets"))
            for place in line.each("places")
        ),
        mpi_thread_cpu_ns=tuple(_counts(times, line.where) for times in line.items("mpi_thread_cpu_ns")),
        helper_thread_cpu_ns=tuple(_counts(times, line.where) for times in line.items("helper_thread_cpu_ns")),
        points=(),
    )
    if len(launch.places) != header.ranks:
        fail(line.where, f"{header.ranks} ranks, but {len(launch.places)} places")
    return launch


def _point(line: Fields, header: Header, launch: int, index: int) -> Samples:
    if line.count("launch") != launch:
        fail(line.where, f"a point of launch {line.count('launch')} among those of {launch}")
    if line.count("index") != index or index >= len(header.targets):
        fail(line.where, f"point {line.count('index')} where {index} of {len(header.targets)} is next")
    target = header.targets[index]
    if (line.count("comp_target_ns"), line.count("work_size")) != (target.comp_target_ns, target.work_size):
        fail(line.where, f"point {index} did other work than was planned")
    times = line.items("t_comp_ns")
    windows = [_counts(window, line.where) for window in line.items("window_utc_ns")]
    if len(times) != header.ranks or len(windows) != header.ranks or any(len(window) != 2 for window in windows):
        fail(line.where, f"t_comp_ns or window_utc_ns is not of {header.ranks} ranks")
    by_rank = Fields({str(rank): values for rank, values in enumerate(times)}, line.where, "t_comp_ns.")
    return Samples(
        windows_utc_ns=tuple((window[0], window[1]) for window in windows),
        t_comp_ns=tuple(by_rank.times(str(rank), target.repetitions) for rank in range(header.ranks)),
    )


def _counts(value: object, where: str) -> tuple[int, ...]:
    return Fields({"array": value}, where).counts("array")
