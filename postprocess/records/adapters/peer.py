"""Version 1 of `mpi-campaign.peer`: the records of other benchmarks, with the times that they printed."""

from __future__ import annotations

import math

from postprocess.records.envelope import check_points
from postprocess.records.fields import Fields, Json, fail
from postprocess.records.format import Format, PointReader
from postprocess.records.header import NO_PROGRESS_KNOWN, Header, Plan
from postprocess.records.record import Footer, Point

SCHEMA = "mpi-campaign.peer"
FAMILY = "peers"
_OF_HEADER = ("repeat", "program", "mpi_library", "ranks_reported", "command_lines")
_OF_POINT = ("t_overlapped_us", "t_pure_us", "t_compute_us", "overlap_percent", "reason")


def _header(line: Fields) -> Header:
    """The sizes that were asked for stand in its points alone."""
    return Header(
        schema=SCHEMA,
        schema_version=line.count("schema_version"),
        family=FAMILY,
        method=1,
        benchmark=line.text("benchmark"),
        toolchain=line.text("toolchain"),
        provider=line.text("provider"),
        configuration=line.text("configuration"),
        network=line.text("network"),
        command_line=(),
        started_utc=line.text("started_utc"),
        mpi_library_version="",
        mpi_standard=line.text("mpi_standard"),
        thread_level_required="",
        thread_level_provided="",
        ranks=line.count("ranks"),
        nodes=0,
        threads_per_rank=0,
        physical_cores=0,
        oversubscribed=False,
        shared_core=False,
        progress=NO_PROGRESS_KNOWN,
        placement=(),
        timer=None,
        start_method="",
        seed=None,
        build={},
        environment=line.strings("environment"),
        mpi_variables=None,
        clock=None,
        plan=Plan(
            parameters={"collective": (line.text("collective"),), "cache": (line.text("cache"),)},
            points=None,
            budget_seconds=None,
            interval_relative=None,
            min_repetitions=None,
            max_repetitions=None,
            sizes_given=None,
            own={},
        ),
        own=_named(line, _OF_HEADER),
        metadata=line.mapping("metadata"),
        where=line.where,
    )


def _named(line: Fields, names: tuple[str, ...]) -> Json:
    """As it stands there; whoever reads it says what is wrong with it."""
    return {name: line.value[name] for name in names if name in line.value}


class _Lines:
    def __init__(self, header: Header) -> None:
        self.collective = header.plan.parameters["collective"][0]
        self.points = 0

    def read(self, line: Fields) -> Point:
        if line.count("index") != self.points:
            fail(line.where, f"index is {line.count('index')}, not {self.points}")
        point = Point(
            index=self.points,
            parameters={"collective": self.collective, "message_bytes": line.count("message_bytes")},
            repetitions=None if line.number_or_none("repetitions") is None else line.count("repetitions"),
            warmup_repetitions=0,
            late_repetitions=0,
            discarded_repetitions=0,
            stop_reason="",
            interval_relative_reached=math.nan,
            data_errors=0,
            start_method="",
            clock=None,
            series={},
            warmup={},
            spreads={},
            rank_medians={},
            thread_medians=None,
            rank_samples=None,
            own=_named(line, _OF_POINT),
            where=line.where,
        )
        self.points += 1
        return point


def _points(header: Header) -> PointReader:
    return _Lines(header).read


def _footer(line: Fields, _header: Header, points: int) -> Footer:
    check_points(line, points)
    return Footer(
        complete=line.flag("complete"),
        reason=line.text("reason"),
        wall_seconds=line.number("wall_seconds"),
        measured_seconds=None,
        clock_residual_ns=None,
        clock_synchronisations=None,
        clock_synchronisation_seconds=None,
        clock_refusal="",
        mpi_thread_cpu_ns=(),
        helper_thread_cpu_ns=(),
        tcp_bytes_sent=None,
        own={},
        where=line.where,
    )


FORMAT = Format(
    schema=SCHEMA,
    versions=(1,),
    kinds=("point",),
    otherwise="neither a point nor a footer",
    header=_header,
    points=_points,
    footer=_footer,
    schema_file=lambda _line: "peer-v1.schema.json",
)
