"""The parts of a record's lines that several schemas have, read the same way in each.

Its functions raise RecordError where a part is missing or wrong.
"""

from __future__ import annotations

from postprocess.records.fields import Fields, Json, fail
from postprocess.records.header import Header, HeaderClock, Placement, Progress, Thread, Timer
from postprocess.records.record import Clock, Footer, Spread


def header_of(line: Fields, family: str, method: int) -> Header:
    """The part of a header that every schema has: the case, the number of ranks, the time, the environment."""
    return Header(
        schema=line.text("schema"),
        schema_version=line.count("schema_version"),
        family=family,
        method=method,
        benchmark=line.text("benchmark"),
        toolchain=line.text("toolchain"),
        provider=line.text("provider"),
        configuration=line.text("configuration"),
        network=line.text("network"),
        started_utc=line.text("started_utc"),
        mpi_standard=line.text("mpi_standard"),
        ranks=line.positive("ranks"),
        environment=line.strings("environment"),
        metadata=_metadata_of(line),
        where=line.where,
    )


def _metadata_of(line: Fields) -> Json:
    """The metadata of a header; null in older records means none."""
    return {} if line.value.get("metadata", 0) is None else line.mapping("metadata")


def check_placements(header: Header) -> None:
    """Raise RecordError unless a header has one placement per rank."""
    if len(header.placement) != header.ranks:
        fail(header.where, f"{header.ranks} ranks, but {len(header.placement)} placements")


def progress_of(line: Fields) -> Progress:
    """The progress thread that the configuration asks for."""
    return Progress(line.text("source"), line.text("pinned_by"), line.count("given_up_cores"))


def placement_of(rank: Fields, *, helpers: bool = True) -> Placement:
    """One element of a header's placement. helpers: whether the schema knows helper threads and dedicated cores."""
    return Placement(
        rank=rank.count("rank"),
        host=rank.text("host"),
        node=rank.count("node"),
        cpuset=rank.text("cpuset"),
        physical_cores=rank.count("physical_cores"),
        compute_cpusets=rank.texts("compute_cpusets"),
        mpi_threads=_threads(rank, "mpi_threads"),
        helper_threads=_threads(rank, "helper_threads") if helpers else (),
        dedicated_cpuset=rank.text("dedicated_cpuset") if helpers else "",
    )


def _threads(rank: Fields, key: str) -> tuple[Thread, ...]:
    return tuple(Thread(thread.text("name"), thread.text("cpuset")) for thread in rank.each(key))


def timer_of(line: Fields) -> Timer:
    """The local clock."""
    return Timer(line.text("name"), line.count("resolution_ns"), line.number("overhead_ns"))


def header_clock_of(line: Fields) -> HeaderClock:
    """The common clock when the run began."""
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


def clock_of(line: Fields) -> Clock:
    """The clock that a point was timed on."""
    return Clock(
        method=line.text("method"),
        residual_ns=line.number_or_none("residual_ns"),
        synchronisations=line.count("synchronisations"),
        drift_ppm=line.number_or_none("drift_ppm"),
    )


def spread_of(term: Fields, length: int) -> Spread:
    """The spread of a term over ranks.  length: the number of repetitions."""
    return Spread(*(term.times(name, length) for name in ("min", "median", "max", "max_rank")))


def footer_of(line: Fields) -> Footer:
    """The part of a footer that every schema has: whether the record is whole, and how long the run took."""
    return Footer(
        complete=line.flag("complete"),
        reason=line.text("reason"),
        wall_seconds=line.number("wall_seconds"),
        where=line.where,
    )


def check_points(line: Fields, points: int) -> None:
    """Raise RecordError where the footer tells another number of points than stand before it."""
    if line.count("points") != points:
        fail(line.where, f"the footer counts {line.count('points')} points, the file has {points}")
