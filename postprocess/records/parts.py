"""The parts of a record's lines. The functions raise RecordError where a part is missing or wrong."""

from __future__ import annotations

from postprocess.records.fields import Fields, fail
from postprocess.records.header import Header, HeaderClock, Placement, Progress, Thread, Timer
from postprocess.records.record import Clock, Spread


def check_placements(header: Header) -> None:
    """Raise RecordError unless a header has one placement per rank."""
    if len(header.placement) != header.ranks:
        fail(header.where, f"{header.ranks} ranks, but {len(header.placement)} placements")


def progress_of(line: Fields) -> Progress:
    """The progress thread that the configuration asks for."""
    return Progress(line.text("source"), line.text("pinned_by"), line.count("given_up_cores"))


def placement_of(rank: Fields) -> Placement:
    """One element of a header's placement."""
    return Placement(
        rank=rank.count("rank"),
        host=rank.text("host"),
        node=rank.count("node"),
        cpuset=rank.text("cpuset"),
        physical_cores=rank.count("physical_cores"),
        compute_cpusets=rank.texts("compute_cpusets"),
        mpi_threads=_threads(rank, "mpi_threads"),
        helper_threads=_threads(rank, "helper_threads"),
        dedicated_cpuset=rank.text("dedicated_cpuset"),
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


def check_points(line: Fields, points: int) -> None:
    """Raise RecordError where the footer tells another number of points than stand before it."""
    if line.count("points") != points:
        fail(line.where, f"the footer counts {line.count('points')} points, the file has {points}")
