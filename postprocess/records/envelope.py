"""The lines of a record: header, points, footer, the same for every family of benchmarks.

`benchmarks/common/description.json` has their fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from postprocess.drawing.text import clean
from postprocess.records.description import families
from postprocess.records.fields import Fields, Nanoseconds, fail, is_number
from postprocess.records.header import (
    NO_PROGRESS_KNOWN,
    SIMULATED,
    SIMULATOR,
    Header,
    HeaderClock,
    Parameter,
    Placement,
    Plan,
    Progress,
    Thread,
    Timer,
)
from postprocess.records.record import SPENT, Clock, Footer, Point, Spread

SCHEMA = "mpi-campaign.record"
VERSION = 4


def _known(line: Fields, key: str) -> bool:
    """Whether a key is not null. A missing key counts as known, so that reading it raises the error."""
    return line.value.get(key, 0) is not None


def read_header(line: Fields) -> Header:
    """The header that a first line is. Raises RecordError."""
    header = line.made(
        Header,
        family=_family(line),
        description=line.text("description") if "description" in line.value else "",
        thread_level_required=_text_or_empty(line, "thread_level_required"),
        thread_level_provided=_text_or_empty(line, "thread_level_provided"),
        nodes=_count_or_0(line, "nodes"),
        threads_per_rank=line.positive("threads_per_rank") if _known(line, "threads_per_rank") else 0,
        physical_cores=_count_or_0(line, "physical_cores"),
        oversubscribed=line.flag("oversubscribed") if _known(line, "oversubscribed") else False,
        shared_core=line.flag("shared_core") if _known(line, "shared_core") else False,
        progress=line.inside("progress").made(Progress) if _known(line, "progress") else NO_PROGRESS_KNOWN,
        placement=tuple(_placement(rank) for rank in line.each("placement")),
        timer=line.inside("timer").made(Timer) if _known(line, "timer") else None,
        start_method=_text_or_empty(line, "start_method"),
        build=line.mapping("build") if _known(line, "build") else {},
        mpi_variables=line.strings("mpi_variables") if _known(line, "mpi_variables") else None,
        clock=line.inside("clock").made(HeaderClock) if _known(line, "clock") else None,
        plan=_plan(line.inside("plan")),
        where=line.where,
    )
    if header.placement and len(header.placement) != header.ranks:
        fail(header.where, f"{header.ranks} ranks, but {len(header.placement)} placements")
    # Whatever the program was told: it cannot know that its clock and its network are simulated.
    return replace(header, network=SIMULATED) if header.mpi_library_version.startswith(SIMULATOR) else header


def _placement(rank: Fields) -> Placement:
    """One element of a header's placement."""
    threads = {name: tuple(one.made(Thread) for one in rank.each(name)) for name in ("mpi_threads", "helper_threads")}
    return rank.made(Placement, **threads)


def _spread(term: Fields, length: int) -> Spread:
    """The spread of a term over ranks.  length: the number of repetitions."""
    return Spread(*(term.times(name, length) for name in ("min", "median", "max", "max_rank")))


def _clock(line: Fields) -> Clock:
    return line.made(Clock, synchronisations=line.count("synchronisations"))


def _text_or_empty(line: Fields, key: str) -> str:
    return line.text(key) if _known(line, key) else ""


def _count_or_0(line: Fields, key: str) -> int:
    return line.count(key) if _known(line, key) else 0


def _plan(plan: Fields) -> Plan:
    asked = plan.inside("parameters")
    return plan.made(Plan, parameters={name: tuple(_parameters(asked, name)) for name in asked.value})


def _parameters(asked: Fields, name: str) -> list[Parameter]:
    values = asked.items(name)
    if not all(isinstance(value, str) or is_number(value) for value in values):
        fail(asked.where, f"{asked.name}{name} is not a list of numbers and strings")
    return values


def read_point(line: Fields, header: Header) -> Point:
    """The point that a line is, in a record with this header. Raises RecordError."""
    repetitions, warmups = line.count_or_none("repetitions"), line.count("warmup_repetitions")
    n, ranks = repetitions or 0, header.ranks
    series, warmup, spreads = (line.inside(name) for name in ("series", "warmup", "spreads"))
    medians = line.inside("rank_medians")
    return line.made(
        Point,
        parameters=_parameters_of(line.inside("parameters")),
        repetitions=repetitions,
        stop_reason=_text_or_empty(line, "stop_reason"),
        start_method=_text_or_empty(line, "start_method"),
        clock=_clock(line.inside("clock")) if _known(line, "clock") else None,
        series={name: series.times(name, n) for name in series.value},
        warmup={name: warmup.times(name, warmups) for name in warmup.value},
        spreads={name: _spread(spreads.inside(name), n) for name in spreads.value},
        rank_medians={name: medians.times(name, ranks) for name in medians.value},
        thread_medians=_tables(line, "thread_medians", ranks, header.threads_per_rank),
        rank_samples=_tables(line, "rank_samples", ranks, n),
        where=line.where,
    )


def _parameters_of(line: Fields) -> Mapping[str, Parameter]:
    for name, value in line.value.items():
        if not (isinstance(value, str) or is_number(value)):
            fail(line.where, f"{line.name}{clean(name)} is neither a number nor a string")
    return line.value


def _tables(line: Fields, key: str, rows: int, columns: int) -> Mapping[str, Nanoseconds] | None:
    """Tables by name, of shape (rows, columns); None where the record was written without them."""
    if key not in line.value:
        return None
    inside = line.inside(key)
    return {name: inside.times_table(name, rows, columns) for name in inside.value}


def read_footer(line: Fields, points: int) -> Footer:
    """The footer that a last line is. Raises RecordError.  points: the number of points before it."""
    if line.count("points") != points:
        fail(line.where, f"the footer counts {line.count('points')} points, the file has {points}")
    return line.made(
        Footer,
        spent_seconds=_spent(line),
        tcp_bytes_sent=line.counts_or_none("tcp_bytes_sent") or None,
        where=line.where,
    )


def _spent(line: Fields) -> Mapping[str, float] | None:
    if line.value.get("spent_seconds", 0) is None:
        return None
    spent = line.inside("spent_seconds")
    return {name: spent.number(name) for name in SPENT}


def _family(line: Fields) -> str:
    family = line.text("family")
    if family not in families():
        fail(line.where, f"family is '{clean(family)}', none of {', '.join(families())}")
    return family
