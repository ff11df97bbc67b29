"""Version 1 of `mpi-campaign.peer`: the records of other benchmarks, with the times that they printed."""

from __future__ import annotations

from dataclasses import replace

from postprocess.records.fields import Fields, Json, fail
from postprocess.records.format import Format, PointReader
from postprocess.records.header import Header, Plan
from postprocess.records.parts import check_points, footer_of, header_of
from postprocess.records.record import Footer, Point

SCHEMA = "mpi-campaign.peer"
FAMILY = "peers"
_OF_HEADER = ("repeat", "program", "mpi_library", "ranks_reported", "command_lines")
_OF_POINT = ("t_overlapped_us", "t_pure_us", "t_compute_us", "overlap_percent", "reason")


def _header(line: Fields) -> Header:
    """The header. Its plan has no message sizes: only the points have them."""
    return replace(
        header_of(line, FAMILY, method=1),
        plan=Plan(parameters={"collective": (line.text("collective"),), "cache": (line.text("cache"),)}),
        own=_named(line, _OF_HEADER),
    )


def _named(line: Fields, names: tuple[str, ...]) -> Json:
    """The values of these keys, as they are in the line. They are checked by the view of the family."""
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
            own=_named(line, _OF_POINT),
            where=line.where,
        )
        self.points += 1
        return point


def _points(header: Header) -> PointReader:
    return _Lines(header).read


def _footer(line: Fields, _header: Header, points: int) -> Footer:
    check_points(line, points)
    return footer_of(line)


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
