"""Read record files and run folders into dataclasses.

The format is `results/schema/record-v3.schema.json`: JSON Lines, a header, a line per point, a footer. Every version
before it loads for ever, into the same dataclasses; what a version cannot know is None there. A file that was cut off
(no footer, half a last line) or refused (``complete: false``, with or without points) still loads and says so.
Anything else that is wrong is a `RecordError` of one line, ``file:line: what is wrong``.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.drawing.text import clean, short
from postprocess.records.fields import Fields, Json, Nanoseconds, RecordError, fail, json_object, lines_of
from postprocess.records.storage import first_line, record_file, record_files, record_name

RECORD_SCHEMA = "mpi-campaign.record"
RECORD_VERSIONS = (1, 2, 3)
IMPACT_SCHEMA = "mpi-campaign.impact"
PEER_SCHEMA = "mpi-campaign.peer"
# Records of a run that have loaders of their own.
OTHER_SCHEMAS = (IMPACT_SCHEMA, PEER_SCHEMA)
MANIFEST_SCHEMA = "mpi-campaign.manifest"
MANIFEST_VERSION = 1
PERFORMANCE = "performance"
"""ReFrame's name of the phase in which numbers are held against references."""
MOST_TIMES_OFF = 800
"""What a time can be of another measurement of what it should take; units are a thousand apart."""
MOST_TIMES_APART = 400
"""Two accounts of one measurement can be, by less than 2 where both are of one unit."""
RESULTS = ("pass", "skip", "fail", "missing")
"""What can have become of a manifest's case."""
LARGEST_NUMBER = 1_000_000
"""A larger number is none that counts anything."""
GIVEN = "given"
"""Status of a calibration that there was none of: the size came from a file."""
NAMED = "named_cores"
"""The column with the cores of a rank's share in a run that has several such numbers, so that names tell them; else 0.
It says nothing that the columns of a case do not."""
SCHEMA_FOLDER = Path(__file__).resolve().parents[2] / "results" / "schema"


@dataclass(frozen=True)
class Thread:
    """A thread that the MPI library started, with the CPUs it may use as the kernel lists them (``0-3,8``)."""

    name: str
    cpuset: str


@dataclass(frozen=True)
class Placement:
    """Where one rank ran, as seen from inside the process.

    ``helper_threads`` are progress threads of the application's own. ``dedicated_cpuset`` is for a progress thread
    alone. Before version 3 there was neither.
    """

    rank: int
    host: str
    node: int
    cpuset: str
    physical_cores: int
    compute_cpusets: tuple[str, ...]
    mpi_threads: tuple[Thread, ...]
    helper_threads: tuple[Thread, ...]
    dedicated_cpuset: str


@dataclass(frozen=True)
class Progress:
    """What the configuration asks for: whose progress thread (``none``, ``library``, ``application``), who binds it
    (``none``, ``library``, ``program``), and how many cores of its share a rank gives up.
    """

    source: str
    pinned_by: str
    given_up_cores: int


@dataclass(frozen=True)
class HeaderClock:
    """The common clock when the run began. ``refusal`` says why there is none; None is what is not known."""

    method: str
    refusal: str
    clocks: int
    rounds: int
    residual_ns: float | None
    shortest_trip_ns: float | None
    drift_ppm: float | None
    synchronisation_seconds: float


@dataclass(frozen=True)
class Header:
    """The first line of a record: what ran, and where. ``raw`` is the line itself.

    ``clock`` is None in version 1, which does not say. ``cache`` is ``warm`` or ``cold``; version 1 knew warm ones
    only. ``interval_relative`` is the asked width of the medians' intervals. Before version 3 every computation was
    ``dgemm`` without MPI_Test, nobody gave up a core, and ``mpi_variables`` were not asked for (None).
    """

    schema_version: int
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
    clock: HeaderClock | None
    start_method: str
    command_line: tuple[str, ...]
    environment: dict[str, str]
    mpi_variables: dict[str, str] | None
    build: Json
    metadata: Json
    placement: tuple[Placement, ...]
    planned_collectives: tuple[str, ...]
    planned_comm_targets_ns: tuple[int, ...]
    planned_comp_targets_ns: tuple[int, ...]
    interval_relative: float
    cache: str
    computation: str
    test_interval_ns: int
    raw: Json = field(repr=False)


@dataclass(frozen=True)
class Calibration:
    """How well a size meets its target: ``error_relative`` is (time - target) / target, ``time_ns`` 0 if unknown."""

    status: str
    time_ns: int
    error_relative: float


@dataclass(frozen=True)
class Spread:
    """One term of the overlapped repetitions, over ranks: a value per repetition, in nanoseconds but for max_rank."""

    min: Nanoseconds
    median: Nanoseconds
    max: Nanoseconds
    max_rank: Nanoseconds


@dataclass(frozen=True)
class Warmup:
    """What was found to be warm-up and thrown away: a value per warm-up. Version 1 kept none."""

    t_measured_ns: Nanoseconds
    t_comm_ref_ns: Nanoseconds
    t_comp_ref_ns: Nanoseconds


@dataclass(frozen=True)
class Clock:
    """What a point was timed on: ``shared``, ``interpolated`` or ``none``. A residual of None is unknown, never 0."""

    method: str
    residual_ns: float | None
    synchronisations: int | None
    drift_ppm: float | None


@dataclass(frozen=True)
class Reference:
    """What happened to a reference time. None is what is not known: by version 1, or for want of repetitions.

    ``change_relative`` and ``p_value``: its trend over the point. ``moved_relative``: its median / the time for which
    its size was calibrated - 1.
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


@dataclass(frozen=True)
class Point:
    """One cell of the sweep. Arrays are int64 nanoseconds: a value per valid repetition; in ``rank_*`` one per rank.

    ``work_size`` is what each computing thread does: the order of its matrices (dgemm), its elements (triad).
    ``start_imbalance_ns`` is empty without a common clock (``clock.method`` none). All other times over ranks are then
    the largest of the ranks' own durations. ``t_test_ns`` is the time inside MPI_Test, all calls of a repetition
    together, ``rank_mpi_ns`` t_call + t_test + t_wait. ``rank_samples`` and ``thread_medians`` are None where the
    record was written without.
    """

    index: int
    collective: str
    comm_target_ns: int
    comp_target_ns: int
    message_bytes: int
    work_size: int
    comm_calibration: Calibration
    comp_calibration: Calibration
    start_method: str
    buffer_sets: int
    repetitions: int
    warmup_repetitions: int
    late_repetitions: int
    discarded_repetitions: int
    recalibrations: int
    stop_reason: str
    interval_relative_reached: float
    data_errors: int
    test_calls: int
    clock: Clock
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
    start_imbalance_ns: Nanoseconds
    rank_mpi_ns: Nanoseconds
    rank_comm_ref_ns: Nanoseconds
    rank_comp_ns: Nanoseconds
    rank_comp_ref_ns: Nanoseconds
    rank_samples: RankSamples | None
    thread_medians: ThreadMedians | None


@dataclass(frozen=True)
class Footer:
    """The last line: ``mpi_thread_cpu_ns`` is [rank][thread] CPU time of the threads that MPI started, nanoseconds;
    those of the header's placement first, then any that it started later.

    ``helper_thread_cpu_ns`` is that of the application's progress threads; before version 3 there were none.
    ``tcp_bytes_sent`` is what each rank's TCP connections carried. ``clock_refusal`` says why there is no clock any
    more; None is what is not known, by version 1 for example.
    """

    complete: bool
    reason: str
    wall_seconds: float
    measured_seconds: float
    clock_residual_ns: float | None
    clock_synchronisations: int | None
    clock_synchronisation_seconds: float | None
    clock_refusal: str
    mpi_thread_cpu_ns: tuple[tuple[int, ...], ...]
    helper_thread_cpu_ns: tuple[tuple[int, ...], ...]
    tcp_bytes_sent: tuple[int | None, ...] | None


@dataclass(frozen=True)
class Record:
    """One record file. ``incomplete`` says why it is not whole; it is empty when it is."""

    path: Path
    header: Header
    points: tuple[Point, ...]
    footer: Footer | None
    incomplete: str

    @property
    def complete(self) -> bool:
        """Whether the file ends with a footer that says so."""
        return not self.incomplete

    @property
    def collectives(self) -> tuple[str, ...]:
        """What was planned, in that order, and what is there beyond it."""
        return tuple(dict.fromkeys((*self.header.planned_collectives, *(p.collective for p in self.points))))

    @property
    def name(self) -> str:
        """The record's path inside a run folder, as the manifest's cases name it."""
        return record_name(self.path)


@dataclass(frozen=True)
class Run:
    """A run folder: its manifest (empty when that could not be read), its records by file name, and what was wrong.

    ``others`` are its records of OTHER_SCHEMAS, for their own loaders.
    """

    path: Path
    manifest: Json
    records: tuple[Record, ...]
    problems: tuple[str, ...]
    others: tuple[Path, ...] = ()


def load_record(path: Path | str) -> Record:
    """Read one record file.

    Raises RecordError where the file is unreadable, foreign, of a newer version, or wrong in any way but being cut off.
    """
    path = Path(path)
    header: Header | None = None
    footer: Footer | None = None
    points: list[Point] = []
    known: set[int] = set()
    incomplete = "no footer: the measurement was cut off"
    for where, value in lines_of(path):
        if header is None:
            if value is None:
                fail(where, "cut off before the end of the header")
            header = _header(Fields(value, where))
        elif value is None:
            incomplete = "the last line is cut"
        elif footer is not None:
            fail(where, "a line after the footer")
        elif value.get("type") == "footer":
            footer = _footer(Fields(value, where), len(points), header.schema_version)
            incomplete = "" if footer.complete else footer.reason or "the footer says that it is not complete"
        elif value.get("type") == "point":
            point = _point(Fields(value, where), header)
            if point.index in known:
                fail(where, f"point {point.index} appears twice")
            known.add(point.index)
            points.append(point)
        else:
            fail(where, "neither a point nor a footer")
    if header is None:
        fail(f"{clean(path.name)}:1", "the file is empty")
    return Record(path, header, tuple(points), footer, incomplete)


def load_run(path: Path | str) -> Run:
    """Read a run folder. A bad record is told in `Run.problems` and does not lose the others.

    Raises RecordError where there is no such folder, or its manifest is of a newer version.
    """
    path = Path(path)
    folder = path / "records"
    if not folder.is_dir() and not (path / "manifest.json").is_file():
        fail(clean(str(path)), "not a run folder: neither manifest.json nor records/ is in it")
    manifest, problems = _manifest(path / "manifest.json")
    manifest, lost = _told_of_records(path, manifest)
    problems += lost
    records: list[Record] = []
    others: list[Path] = []
    files = record_files(folder)
    checksums = manifest.get("checksums")
    for file in files:
        try:
            if schema_of(file) in OTHER_SCHEMAS:
                others.append(file)
            else:
                records.append(load_record(file))
            expected = checksums.get(f"records/{file.name}") if isinstance(checksums, dict) else None
            if expected is not None and expected != "sha256:" + hashlib.sha256(file.read_bytes()).hexdigest():
                problems.append(f"{clean(file.name)}: not the file that was archived: its checksum differs")
        except RecordError as error:
            problems.append(str(error))
    return Run(path, manifest, tuple(records), tuple(problems), tuple(others))


def message_sizes(path: Path | str) -> str:
    """A digest of a record's messages and of the times that they stand for: equal where they are the same.

    Raises RecordError where the record cannot be read.
    """
    cells = sorted(
        (p.collective, p.comm_target_ns, p.comp_target_ns, p.message_bytes, p.comm_calibration.time_ns)
        for p in load_record(path).points
    )
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]


def schema_of(path: Path) -> str:
    """The schema that a record file's first line names; empty where it names none, for whatever reason."""
    try:
        return str(json_object(first_line(path).decode("utf-8"), path.name).get("schema") or "")
    except (OSError, UnicodeDecodeError, RecordError):
        return ""


def validate_record(path: Path | str) -> None:
    """Check every line of a record file against the JSON schema of its version, and load it. Needs `jsonschema`.

    Raises RecordError at the first line that does not conform or is cut. A missing footer is no fault.
    """
    import jsonschema  # noqa: PLC0415 - only this needs it

    path = Path(path)
    validators: dict[str, jsonschema.Draft202012Validator] = {}
    for where, value in lines_of(path):
        if value is None:
            fail(where, "the last line is cut")
        if not validators:
            schema = json.loads(schema_file(_version(Fields(value, where))).read_text(encoding="utf-8"))
            validators = {
                kind: jsonschema.Draft202012Validator({**schema["$defs"][kind], "$defs": schema["$defs"]})
                for kind in ("header", "point", "footer")
            }
        validator = validators.get(str(value.get("type")))
        if validator is None:
            fail(where, "neither a header, a point nor a footer")
        fault = next(iter(sorted(validator.iter_errors(value), key=lambda e: list(map(str, e.absolute_path)))), None)
        if fault is not None:
            fail(where, clean(f"{'.'.join(map(str, fault.absolute_path)) or 'line'}: {fault.message}")[:300])
    load_record(path)


def schema_file(version: int) -> Path:
    """The JSON schema of one of `RECORD_VERSIONS`."""
    return SCHEMA_FOLDER / f"record-v{version}.schema.json"


def _manifest(path: Path) -> tuple[Json, list[str]]:
    try:
        manifest = json_object(path.read_text(encoding="utf-8"), path.name)
    except (OSError, UnicodeDecodeError):
        return {}, ["manifest.json: missing or unreadable"]
    except RecordError as error:
        return {}, [str(error)]
    if manifest.get("schema") != MANIFEST_SCHEMA:
        return {}, ["manifest.json: not the manifest of a campaign"]
    version = manifest.get("schema_version")
    if type(version) is int and version > MANIFEST_VERSION:
        fail(
            path.name, f"schema version {version} is newer than {MANIFEST_VERSION}, the newest that this program reads"
        )
    return manifest, []


def _told_of_records(path: Path, manifest: Json) -> tuple[Json, list[str]]:
    """The manifest with cases whose record is gone as `missing`, and what is wrong with what it says of its cases."""
    problems = []
    cases = []
    for case in cases_of(manifest):
        record, result = case.get("record"), case.get("result")
        name = clean(case.get("case") or record or "a case")
        if result not in RESULTS:
            problems.append(f"manifest.json: {name} has the result {clean(result)!r}, none of {', '.join(RESULTS)}")
        if isinstance(record, str) and not record_file(path / record).is_file():
            problems.append(f"{clean(record)}: missing")
            cases.append({**case, "result": "missing", "reason": f"its record {record} is not there"})
        else:
            cases.append(case)
    if manifest and not cases:
        problems.append("manifest.json: it names no cases, so that nobody knows what became of them")
    return {**manifest, "cases": cases} if cases else manifest, problems


def _version(line: Fields) -> int:
    if line.value.get("type") != "header" or line.value.get("schema") != RECORD_SCHEMA:
        fail(line.where, "not the record of a benchmark: its first line is no header")
    version = line.count("schema_version")
    if version not in RECORD_VERSIONS:
        *before, last = map(str, RECORD_VERSIONS)
        legal = f"the versions that this program reads: {', '.join(before)} and {last}"
        newer = version > RECORD_VERSIONS[-1]
        fail(line.where, f"schema version {version} is {'newer than' if newer else 'none of'} {legal}")
    return version


def _header(line: Fields) -> Header:
    version = _version(line)
    plan = line.inside("plan")
    header = Header(
        schema_version=version,
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
        progress=progress_of(line, version),
        clock=None if version == 1 else _header_clock(line.inside("clock")),
        start_method=line.text("start_method"),
        command_line=line.texts("command_line"),
        environment=line.strings("environment"),
        mpi_variables=None if version < 3 else line.strings("mpi_variables"),
        build=line.mapping("build"),
        metadata={} if line.value.get("metadata") is None else line.mapping("metadata"),
        placement=tuple(placement_of(rank, version) for rank in line.each("placement")),
        planned_collectives=plan.texts("collectives"),
        planned_comm_targets_ns=plan.counts("comm_targets_ns"),
        planned_comp_targets_ns=plan.counts("comp_targets_ns"),
        interval_relative=plan.number("interval_relative"),
        cache="warm" if version == 1 else plan.text("cache"),
        computation="dgemm" if version < 3 else plan.text("computation"),
        test_interval_ns=0 if version < 3 else plan.count("test_interval_ns"),
        raw=line.value,
    )
    if not 0 < header.ranks == len(header.placement):
        fail(line.where, f"{header.ranks} ranks, but {len(header.placement)} placements")
    return header


def _header_clock(line: Fields) -> HeaderClock:
    return HeaderClock(
        method=line.text("method"),
        refusal=line.text("refusal"),
        clocks=line.count("clocks"),
        rounds=line.count("rounds"),
        residual_ns=line.number_or_none("residual_ns"),
        shortest_trip_ns=line.number_or_none("shortest_trip_ns"),
        drift_ppm=line.number_or_none("drift_ppm"),
        synchronisation_seconds=line.number("synchronisation_seconds"),
    )


def progress_of(line: Fields, version: int) -> Progress:
    """What the configuration asks for, in the header `line` of a version."""
    if version < 3:  # that knew no other configuration with a progress thread than `async`
        return Progress("none" if line.text("configuration") == "basic" else "library", "none", 0)
    progress = line.inside("progress")
    return Progress(progress.text("source"), progress.text("pinned_by"), progress.count("given_up_cores"))


def _threads(rank: Fields, key: str) -> tuple[Thread, ...]:
    return tuple(Thread(thread.text("name"), thread.text("cpuset")) for thread in rank.each(key))


def placement_of(rank: Fields, version: int) -> Placement:
    """One element of a header's placement, in a version."""
    return Placement(
        rank=rank.count("rank"),
        host=rank.text("host"),
        node=rank.count("node"),
        cpuset=rank.text("cpuset"),
        physical_cores=rank.count("physical_cores"),
        compute_cpusets=rank.texts("compute_cpusets"),
        mpi_threads=_threads(rank, "mpi_threads"),
        helper_threads=() if version < 3 else _threads(rank, "helper_threads"),
        dedicated_cpuset="" if version < 3 else rank.text("dedicated_cpuset"),
    )


def calibration_of(line: Fields) -> Calibration:
    """The calibration that `line` is."""
    return Calibration(line.text("status"), line.count("time_ns"), line.number("error_relative"))


def _clock(line: Fields, version: int) -> Clock:
    method = line.text("method")
    if version == 1:
        return Clock(method, line.number("residual_ns"), None, None)
    residual, drift = line.number_or_none("residual_ns"), line.number_or_none("drift_ppm")
    return Clock(method, residual, line.count("synchronisations"), drift)


def _reference(line: Fields, term: str, version: int) -> Reference:
    if version == 1:
        return Reference(None, None, None)
    drift = line.inside("reference_drift").inside(term)
    change, p_value = drift.number_or_none("change_relative"), drift.number_or_none("p_value")
    return Reference(change, p_value, line.inside("reference_moved").number_or_none(term))


def _warmup(line: Fields, version: int) -> Warmup:
    if version == 1:
        return Warmup(*(np.array([], dtype=np.int64) for _ in range(3)))
    samples, n = line.inside("warmup_samples"), line.count("warmup_repetitions")
    return Warmup(*(samples.times(name, n) for name in ("t_measured_ns", "t_comm_ref_ns", "t_comp_ref_ns")))


def _rank_samples(line: Fields, ranks: int, repetitions: int, version: int) -> RankSamples | None:
    if "rank_samples" not in line.value:
        return None
    samples = line.inside("rank_samples")

    def table(key: str) -> Nanoseconds:
        return samples.times_table(key, ranks, repetitions)

    return RankSamples(
        t_call_ns=table("t_call_ns"),
        t_comp_ns=table("t_comp_ns"),
        t_test_ns=np.zeros((ranks, repetitions), dtype=np.int64) if version < 3 else table("t_test_ns"),
        t_wait_ns=table("t_wait_ns"),
        t_comm_ref_ns=table("t_comm_ref_ns"),
        t_comp_ref_ns=table("t_comp_ref_ns"),
    )


def _thread_medians(line: Fields, header: Header) -> ThreadMedians | None:
    if header.schema_version < 3 or "thread_medians" not in line.value:
        return None
    medians, shape = line.inside("thread_medians"), (header.ranks, header.threads_per_rank)
    return ThreadMedians(medians.times_table("t_comp_ns", *shape), medians.times_table("t_comp_ref_ns", *shape))


def is_as_asked(case: Json) -> bool:
    """Whether a case of a manifest was measured as it was asked for; it may be worse than its reference."""
    return case.get("result") == "pass" or case.get("fail_phase") == PERFORMANCE


def repeat_of(metadata: Json) -> int | None:
    """Which repeat of its case a record is, from 1, as its header's metadata tell; None where they do not."""
    return _number_of_case(metadata, "repeat")


def named_cores_of(metadata: Json) -> int:
    """The cores of each rank's share where a run has several such numbers, so that they name the case; else 0."""
    return _number_of_case(metadata, "cores_per_rank") or 0


def _number_of_case(metadata: Json, name: str) -> int | None:
    """A number from 1 of the case in a header's metadata; None where there is none that counts anything."""
    case = metadata.get("case")
    number = case.get(name) if isinstance(case, dict) else None
    return number if type(number) is int and 0 < number <= LARGEST_NUMBER else None


def cases_of(manifest: Json) -> list[Json]:
    """The cases of a run's manifest, whatever else is in it."""
    cases = manifest.get("cases")
    return [case for case in cases if isinstance(case, dict)] if isinstance(cases, list) else []


def failed_records(manifest: Json) -> dict[str, tuple[str, str]]:
    """{record: (case, reason)} of the cases of a run that were not what was asked for: placed otherwise, say, or
    without the progress thread.

    Those that only missed a reference are none: they are what a comparison is to find. Neither is what is missing, as
    all is that a run has not come to yet.
    """
    failed = [case for case in cases_of(manifest) if case.get("result") == "fail" and not is_as_asked(case)]
    return {
        str(case["record"]): (clean(case.get("case") or ""), clean(case.get("reason") or "no reason was given"))
        for case in failed
        if case.get("record")
    }


def failed_reasons(failed: str, whose: str = "the") -> list[str]:
    """That the case of a point failed, which was then not what was asked for, whatever its numbers look like.

    failed: why, as `failed_records` has it; empty where it did not.
    """
    return [f"{whose} case failed: {short(failed)}"] if failed else []


def _check_units(where: str, point: Point) -> None:
    """Fail where a series is of another unit than what its line says of it elsewhere, or than the other series."""
    references_ns = 0.0
    for term, calibration, moved, samples, ranks in (
        ("comm", point.comm_calibration, point.comm_reference, point.t_comm_ref_ns, point.rank_comm_ref_ns),
        ("comp", point.comp_calibration, point.comp_reference, point.t_comp_ref_ns, point.rank_comp_ref_ns),
    ):
        name, chosen = f"t_{term}_ref_ns", f"{term}_calibration.time_ns"
        # A given size may be of another network. Where it says so itself, it can be any times faster.
        if calibration.status != GIVEN or moved.moved_relative is None:
            _check_unit(where, name, samples, f"{chosen} is", calibration.time_ns, MOST_TIMES_OFF, np.inf)
        if moved.moved_relative is not None:
            stood_for = calibration.time_ns * (1 + moved.moved_relative)
            _check_unit(where, name, samples, f"by {chosen} and reference_moved.{term} they are", stood_for)
        # Of many ranks the slowest one can be another every time, and be slow although none is in the median.
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
    """Fail where the median of a series is so many times less or more than another time. 0 is not known."""
    median_ns = _median(samples)
    if min(median_ns, other_ns) > 0 and not other_ns / times_less <= median_ns <= other_ns * times_more:
        fail(where, f"samples.{name} are about {median_ns:.0f}, {other} {other_ns:.0f}: they are not of one unit")


def _median(samples: NDArray[Any]) -> float:
    return float(np.median(samples)) if samples.size else 0.0


def _point(line: Fields, header: Header) -> Point:
    """Version 1 had one start method for all points, one set of buffers, and neither recalibrated nor discarded.

    Version 2 called no MPI_Test, and named its work after the matrices.
    """
    ranks, version = header.ranks, header.schema_version
    samples, medians = line.inside("samples"), line.inside("rank_medians")
    n = line.count("repetitions")
    clock = _clock(line.inside("clock"), version)

    def spread(key: str) -> Spread:
        term = samples.inside(key)
        return Spread(term.times("min", n), term.times("median", n), term.times("max", n), term.times("max_rank", n))

    never = np.zeros(n, dtype=np.int64)
    point = Point(
        index=line.count("index"),
        collective=line.text("collective"),
        comm_target_ns=line.count("comm_target_ns"),
        comp_target_ns=line.count("comp_target_ns"),
        message_bytes=line.count("message_bytes"),
        work_size=line.count("matrix_size" if version < 3 else "work_size"),
        comm_calibration=calibration_of(line.inside("comm_calibration")),
        comp_calibration=calibration_of(line.inside("comp_calibration")),
        start_method=header.start_method if version == 1 else line.text("start_method"),
        buffer_sets=1 if version == 1 else line.count("buffer_sets"),
        repetitions=n,
        warmup_repetitions=line.count("warmup_repetitions"),
        late_repetitions=line.count("late_repetitions"),
        discarded_repetitions=0 if version == 1 else line.count("discarded_repetitions"),
        recalibrations=0 if version == 1 else line.count("recalibrations"),
        stop_reason=line.text("stop_reason"),
        interval_relative_reached=line.number_or_nan("interval_relative_reached"),
        data_errors=line.count("data_errors"),
        test_calls=0 if version < 3 else line.count("test_calls"),
        clock=clock,
        comm_reference=_reference(line, "comm", version),
        comp_reference=_reference(line, "comp", version),
        warmup=_warmup(line, version),
        t_measured_ns=samples.times("t_measured_ns", n),
        t_comm_ref_ns=samples.times("t_comm_ref_ns", n),
        t_comp_ref_ns=samples.times("t_comp_ref_ns", n),
        t_call_ns=spread("t_call_ns"),
        t_comp_ns=spread("t_comp_ns"),
        t_test_ns=Spread(never, never, never, never) if version < 3 else spread("t_test_ns"),
        t_wait_ns=spread("t_wait_ns"),
        start_imbalance_ns=samples.times("start_imbalance_ns", 0 if clock.method == "none" else n),
        rank_mpi_ns=medians.times("t_call_plus_wait_ns" if version < 3 else "t_mpi_ns", ranks),
        rank_comm_ref_ns=medians.times("t_comm_ref_ns", ranks),
        rank_comp_ns=medians.times("t_comp_ns", ranks),
        rank_comp_ref_ns=medians.times("t_comp_ref_ns", ranks),
        rank_samples=_rank_samples(line, ranks, n, version),
        thread_medians=_thread_medians(line, header),
    )
    _check_units(line.where, point)
    return point


def _footer(line: Fields, points: int, version: int) -> Footer:
    if line.count("points") != points:
        fail(line.where, f"the footer counts {line.count('points')} points, the file has {points}")
    return Footer(
        complete=line.flag("complete"),
        reason=line.text("reason"),
        wall_seconds=line.number("wall_seconds"),
        measured_seconds=line.number("measured_seconds"),
        clock_residual_ns=line.number_or_none("clock_residual_ns"),
        clock_synchronisations=None if version == 1 else line.count("clock_synchronisations"),
        clock_synchronisation_seconds=None if version == 1 else line.number("clock_synchronisation_seconds"),
        clock_refusal="" if version == 1 else line.text("clock_refusal"),
        mpi_thread_cpu_ns=line.count_lists("mpi_thread_cpu_ns"),
        helper_thread_cpu_ns=() if version < 3 else line.count_lists("helper_thread_cpu_ns"),
        tcp_bytes_sent=None if version < 3 else line.counts_or_none("tcp_bytes_sent"),
    )
