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
    return line.made(Progress)


def placement_of(rank: Fields) -> Placement:
    """One element of a header's placement."""
    threads = {name: tuple(one.made(Thread) for one in rank.each(name)) for name in ("mpi_threads", "helper_threads")}
    return rank.made(Placement, **threads)


def timer_of(line: Fields) -> Timer:
    """The local clock."""
    return line.made(Timer)


def header_clock_of(line: Fields) -> HeaderClock:
    """The common clock when the run began."""
    return line.made(HeaderClock)


def clock_of(line: Fields) -> Clock:
    """The clock that a point was timed on."""
    return line.made(Clock, synchronisations=line.count("synchronisations"))


def spread_of(term: Fields, length: int) -> Spread:
    """The spread of a term over ranks.  length: the number of repetitions."""
    return Spread(*(term.times(name, length) for name in ("min", "median", "max", "max_rank")))


def check_points(line: Fields, points: int) -> None:
    """Raise RecordError where the footer tells another number of points than stand before it."""
    if line.count("points") != points:
        fail(line.where, f"the footer counts {line.count('points')} points, the file has {points}")
